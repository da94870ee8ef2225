import CGQLRunCrypto

/// A hash function that libcrypto implements.
package struct HashFunction: Sendable {
  /// The name in libcrypto.
  let name: String
  /// The length of a hash in bytes.
  package let size: Int

  /// SHA-256 (FIPS 180-4).
  package static let sha256 = HashFunction(name: "SHA256", size: 32)
  /// SHA-1, which the handshake of WebSocket requires (RFC 6455). Not for security.
  package static let sha1 = HashFunction(name: "SHA1", size: 20)
  /// MD5, by which Relay's compiler identifies documents. Not for security.
  package static let md5 = HashFunction(name: "MD5", size: 16)

  /// Whether libcrypto has the function: in FIPS mode it has no MD5. Without it, a hash is a programming error.
  package var isAvailable: Bool {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    return EVP_DigestInit_ex(context, EVP_get_digestbyname(name), nil) == 1
  }

  /// The hash of a text in UTF-8.
  package func hash(_ text: String) -> [UInt8] {
    var hash = Hash(self)
    hash.update(text)
    return hash.finalize()
  }
}

/// A hash that is computed piece by piece. A copy continues independently from the same state.
package struct Hash: Sendable {
  private var context: Context
  private let function: HashFunction

  /// Creates the hash of no bytes.
  package init(_ function: HashFunction = .sha256) {
    self.function = function
    context = Context(function)
  }

  /// Adds bytes.
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    makeUnique()
    context.update(bytes)
  }

  /// Adds the UTF-8 of a text.
  package mutating func update(_ text: String) {
    var text = text
    text.withUTF8 { update(UnsafeRawBufferPointer($0)) }
  }

  /// Adds the UTF-8 of a text after its length, so that adjacent texts stay distinct.
  package mutating func updateDelimited(_ text: String) {
    withUnsafeBytes(of: UInt64(text.utf8.count).bigEndian) { update($0) }
    update(text)
  }

  /// The hash of all bytes that were added. Afterwards no bytes can be added.
  package mutating func finalize() -> [UInt8] {
    makeUnique()
    return context.finish(size: function.size)
  }

  private mutating func makeUnique() {
    if !isKnownUniquelyReferenced(&context) { context = Context(copying: context) }
  }

  /// Sendable: its owner changes it only while there is no other reference to it.
  private final class Context: @unchecked Sendable {
    private let pointer: OpaquePointer

    init(_ function: HashFunction) {
      pointer = Self.created()
      let algorithm = EVP_get_digestbyname(function.name)
      let isReady = EVP_DigestInit_ex(pointer, algorithm, nil) == 1
      precondition(isReady, "libcrypto has no \(function.name)")
    }

    init(copying other: Context) {
      pointer = Self.created()
      let isCopied = EVP_MD_CTX_copy_ex(pointer, other.pointer) == 1
      precondition(isCopied, "there is no memory for a hash")
    }

    deinit { EVP_MD_CTX_free(pointer) }

    private static func created() -> OpaquePointer {
      guard let pointer = EVP_MD_CTX_new() else {
        preconditionFailure("there is no memory for a hash")
      }
      return pointer
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
      EVP_DigestUpdate(pointer, bytes.baseAddress, bytes.count)
    }

    func finish(size: Int) -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        EVP_DigestFinal_ex(pointer, buffer.baseAddress, nil)
        count = size
      }
    }
  }
}
