public let pipelineName = "Pipeline"
