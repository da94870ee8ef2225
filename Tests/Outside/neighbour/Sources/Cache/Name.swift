public let name = "Cache"
