public let name = "Pipeline"
