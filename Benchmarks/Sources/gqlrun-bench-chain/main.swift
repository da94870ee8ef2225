// Compares the chain with a bare async-http-client on the same requests to the same server, in the same
// run: a round measures every way in turn, and every ratio is one within its round.
//
//   gqlrun-bench-chain URL [requests] [rounds] [part of the names of the ways to measure] [concurrency]

import Foundation

/// Prints a line at once, into a file, too.
func tell(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

let arguments = CommandLine.arguments
guard arguments.count > 1 else {
  print("usage: gqlrun-bench-chain URL [requests per measurement] [rounds] [part of names]")
  exit(64)
}
let url = arguments[1]
let requests = arguments.count > 2 ? Int(arguments[2]) ?? 2_000 : 2_000
let rounds = arguments.count > 3 ? Int(arguments[3]) ?? 11 : 11
let wanted = arguments.count > 4 ? arguments[4] : ""
let only = arguments.count > 5 ? Int(arguments[5]) : nil

let network = ["fetch", "response-code", "parse"]
setenv("GQLRUN_BENCH_TOKEN", "token", 1)
let all: [any Way] = [
  try BareWay(url: url),
  try ChainWay("fetch, response-code, parse", url: url, store: "none", entries: network),
  try ChainWay(
    "the same, kept in memory", url: url, store: "memory", entries: network + ["cache-write"]),
  try ChainWay(
    "the default pipeline, network-only", url: url, store: "memory",
    entries: ["logging: { level: info }", "timeout: { total: 5m }", "max-retry", "cache-read"]
      + network + ["cache-write"]),
  // After the first request, none is sent.
  try ChainWay(
    "the default pipeline, cache-first, from memory", url: url, store: "memory",
    policy: .cacheFirst,
    entries: ["logging: { level: info }", "timeout: { total: 5m }", "max-retry", "cache-read"]
      + network + ["cache-write"]),
  try ChainWay(
    "twelve plugins", url: url, store: "memory",
    entries: [
      "error-tap", "correlation-id", "logging: { level: info }", "timeout: { total: 5m }",
      "max-retry",
      // Without deduplicate: the requests are the same, and would be shared.
      "cache-read", "token-refresh: { env: GQLRUN_BENCH_TOKEN }",
      "headers: { set: { X-Client: bench } }",
    ] + network + ["cache-write"]),
]
let ways = all.filter { wanted.isEmpty || $0.name.contains(wanted) }
let baseline = ways.firstIndex { $0 is BareWay }

tell(
  "\(requests) requests per measurement, \(rounds) rounds; medians, and the middle half of the ratios"
)
for (concurrency, goal) in [
  (1, "time per request at most 1.15 times"), (64, "throughput at least 0.9 times"),
] where only == nil || only == concurrency {
  var results: [[Sample]] = ways.map { _ in [] }
  for way in ways { _ = try await measure(way, requests: requests / 4, concurrency: concurrency) }
  for round in 0..<rounds {
    for turn in ways.indices {
      // Each way follows each other one in its turn.
      let index = (turn + round) % ways.count
      results[index].append(
        try await measure(ways[index], requests: requests, concurrency: concurrency))
    }
  }
  tell("\nconcurrency \(concurrency); goal: \(goal)")
  for (way, samples) in zip(ways, results) {
    var line = String(
      format: "  %7.0f requests/s  %7.1f us  p50 %7.1f  p99 %8.1f  cpu %6.1f us",
      median(samples.map(\.perSecond)), median(samples.map(\.perRequest)),
      median(samples.map(\.p50)), median(samples.map(\.p99)), median(samples.map(\.processor)))
    if let baseline {
      let bare = results[baseline]
      let time = zip(samples, bare).map { $0.perRequest / $1.perRequest }
      line +=
        concurrency == 1
        ? "  time x\(spread(time))" : "  throughput x\(spread(time.map { 1 / $0 }))"
      line += "  cpu x\(spread(zip(samples, bare).map { $0.processor / $1.processor }))"
    }
    tell("\(line)  \(way.name)")
  }
}
for way in ways { try await way.end() }
