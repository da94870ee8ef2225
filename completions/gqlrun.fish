# Completion of gqlrun for fish. `gqlrun complete` prints what can follow; fish completes file names.
function __gqlrun_offers
    gqlrun complete -- (commandline -cp | string collect) 2>/dev/null
end
complete -c gqlrun -f
complete -c gqlrun -n '__gqlrun_offers | string match -q ":files*"' -F
complete -c gqlrun -n '__gqlrun_offers | string match -q ":folders"' -a '(__fish_complete_directories)'
complete -c gqlrun -a '(__gqlrun_offers | string match -v ":*")'
