import Foundation
import GQLRunJSON

/// Other parsers on the same bytes: yajl without handlers, and Foundation's tree.
package struct BaselineRun {
  package var path: String

  package init(path: String) { self.path = path }

  /// yajl without handlers: the lower bound.
  package func floor() throws -> RunMeasurement {
    let file = try ResponseFile(path)
    var run = RunMeasurement(kind: .floor, label: "bare yajl")
    var parser = try BareParser()
    let clock = RunClock()
    var watch = Stopwatch()
    while let chunk = try file.next() {
      watch.lap(.input)
      guard parser.feed(chunk) else {
        throw ProfileError("cannot parse the response \(path): it is not JSON")
      }
      watch.lap(.parse)
      run.counts.bytes += chunk.count
    }
    guard parser.finish() else {
      throw ProfileError("cannot parse the response \(path): it is not JSON, or truncated")
    }
    clock.finish(&run, watch)
    return run
  }

  /// `JSONSerialization`: reads the whole file and builds a tree of objects.
  package func foundation() throws -> RunMeasurement {
    var run = RunMeasurement(kind: .foundation, label: "JSONSerialization")
    let clock = RunClock()
    var watch = Stopwatch()
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    watch.lap(.input)
    let tree = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
    watch.lap(.parse)
    guard let object = tree as? [String: Any] else {
      throw ProfileError("the response \(path) is not a JSON object")
    }
    run.counts.objects = object.count
    run.counts.bytes = data.count
    clock.finish(&run, watch)
    return run
  }
}
