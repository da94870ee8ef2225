public struct Data: Decodable, Sendable {
  public struct Country: Decodable, Sendable {
    public let name: String
  }
  public let country: Country?
}
