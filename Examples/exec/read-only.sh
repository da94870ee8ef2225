#!/bin/sh
# Refuses mutations, whatever they are.
#
#     - exec: { command: [sh, read-only.sh] }
#
# A question is one line of JSON whose last member is its number: {"event":"request",…,"id":7}. The
# first line, {"event":"start",…}, wants no answer.
read -r start
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\)}$/\1/')
  case $line in
  *'"type":"mutation"'*)
    echo "{\"id\":$id,\"action\":\"fail\",\"code\":\"read_only\",\"message\":\"mutations are off\"}" ;;
  *) echo "{\"id\":$id,\"action\":\"continue\"}" ;;
  esac
done
