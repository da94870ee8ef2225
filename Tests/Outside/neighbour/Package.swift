// swift-tools-version:6.1
import PackageDescription

// A package whose targets have names that other packages use, too.
let package = Package(
  name: "neighbour",
  products: [.library(name: "Neighbour", targets: ["GraphQL", "Cache", "Pipeline"])],
  targets: [.target(name: "GraphQL"), .target(name: "Cache"), .target(name: "Pipeline")]
)
