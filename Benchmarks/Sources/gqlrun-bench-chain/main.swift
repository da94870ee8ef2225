// Compares the chain with a bare async-http-client on the same requests, in the same run.
//
//   gqlrun-bench-chain http://127.0.0.1:4000/graphql [requests] [rounds]

import AsyncHTTPClient
import Cache
import Foundation
import GraphQL
import NIOCore
import Pipeline
import Plugins

let arguments = CommandLine.arguments
guard arguments.count > 1 else {
  print("usage: gqlrun-bench-chain URL [requests per measurement] [rounds]")
  exit(64)
}
let url = arguments[1]
let requests = arguments.count > 2 ? Int(arguments[2]) ?? 2_000 : 2_000
let rounds = arguments.count > 3 ? Int(arguments[3]) ?? 7 : 7

let ways: [any Way] = [
  try BareWay(url: url),
  try ChainWay(
    "chain: fetch, response-code, parse", url: url, store: "none",
    entries: ["fetch", "response-code", "parse"]),
  try ChainWay(
    "chain: the default pipeline, network-only", url: url, store: "memory",
    entries: [
      "logging: { level: info }", "timeout: { total: 5m }", "max-retry", "cache-read", "fetch",
      "response-code", "parse", "cache-write",
    ]),
]
print(
  "\(requests) requests per measurement, median of \(rounds) rounds; a round measures every way")
for concurrency in [1, 64] {
  var results: [[Sample]] = ways.map { _ in [] }
  for way in ways { _ = try await measure(way, requests: requests / 4, concurrency: concurrency) }
  for _ in 0..<rounds {
    for (index, way) in ways.enumerated() {
      results[index].append(
        try await measure(way, requests: requests, concurrency: concurrency))
    }
  }
  print("\nconcurrency \(concurrency)")
  let bare = median(results[0].map(\.perSecond))
  let bareTime = median(results[0].map(\.p50))
  for (way, samples) in zip(ways, results) {
    let rate = median(samples.map(\.perSecond))
    let p50 = median(samples.map(\.p50))
    print(
      String(
        format: "  %8.0f requests/s  p50 %7.3f ms  p99 %7.3f ms  time x%.2f  throughput x%.2f  ",
        rate, p50, median(samples.map(\.p99)), p50 / bareTime, rate / bare) + way.name)
  }
}
for way in ways { try await way.end() }
