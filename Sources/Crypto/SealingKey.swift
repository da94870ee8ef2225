import CGQLRunCrypto

/// A secret key that seals bytes: who does not have it can neither read nor change them.
///
/// Sealed bytes are those of AES-256-GCM: a random nonce of 12 bytes, the ciphertext, and a tag of 16 bytes.
package struct SealingKey: Sendable {
  private let bytes: [UInt8]

  private static let nonceSize = 12
  private static let tagSize = 16

  /// The system's random numbers or libcrypto are not available.
  package struct Failure: Error {}

  /// Derives a key of 32 bytes from a secret (HKDF with SHA-256 and without salt, RFC 5869).
  ///
  /// - Parameters:
  ///   - secret: The secret text.
  ///   - purpose: What the key is for. Keys of different purposes are independent.
  package init(derivedFrom secret: String, purpose: String) {
    let extracted = Self.authentication(
      of: Array(secret.utf8), key: [UInt8](repeating: 0, count: 32))
    bytes = Self.authentication(of: Array(purpose.utf8) + [1], key: extracted)
  }

  /// The key as text, for use as a name that reveals nothing.
  package var base64Encoded: String {
    [UInt8](unsafeUninitializedCapacity: 45) { buffer, count in
      // Ends with a NUL character, which is not counted.
      count = Int(EVP_EncodeBlock(buffer.baseAddress, bytes, Int32(bytes.count)))
    }.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
  }

  /// HMAC-SHA-256.
  private static func authentication(of message: [UInt8], key: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      let result = HMAC(
        EVP_sha256(), key, Int32(key.count), message, message.count, buffer.baseAddress, nil)
      precondition(result != nil, "libcrypto has no HMAC with SHA-256")
      count = 32
    }
  }

  /// Seals bytes with a new nonce.
  package func seal(_ plain: [UInt8]) throws(Failure) -> [UInt8] {
    var random = SystemRandomNumberGenerator()
    let nonce = (0..<Self.nonceSize).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    var sealed = [UInt8](repeating: 0, count: plain.count)
    var tag = [UInt8](repeating: 0, count: Self.tagSize)
    let isSealed = withContext { context in
      var length: Int32 = 0
      return EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, bytes, nonce) == 1
        && EVP_EncryptUpdate(context, &sealed, &length, plain, Int32(plain.count)) == 1
        && EVP_EncryptFinal_ex(context, nil, &length) == 1
        && gqlrun_gcm_tag(context, Int32(Self.tagSize), &tag) == 1
    }
    guard isSealed else { throw Failure() }
    return nonce + sealed + tag
  }

  /// The bytes that were sealed; `nil` if they were sealed with another key, or changed.
  package func open(_ sealed: [UInt8]) -> [UInt8]? {
    guard sealed.count >= Self.nonceSize + Self.tagSize else { return nil }
    let nonce = Array(sealed.prefix(Self.nonceSize))
    var tag = Array(sealed.suffix(Self.tagSize))
    let cipher = Array(sealed.dropFirst(Self.nonceSize).dropLast(Self.tagSize))
    var plain = [UInt8](repeating: 0, count: cipher.count)
    let isOpened = withContext { context in
      var length: Int32 = 0
      return EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, bytes, nonce) == 1
        && EVP_DecryptUpdate(context, &plain, &length, cipher, Int32(cipher.count)) == 1
        && gqlrun_gcm_expect_tag(context, Int32(Self.tagSize), &tag) == 1
        // Compares the tag.
        && EVP_DecryptFinal_ex(context, nil, &length) == 1
    }
    return isOpened ? plain : nil
  }

  private func withContext(_ work: (OpaquePointer) -> Bool) -> Bool {
    guard let context = EVP_CIPHER_CTX_new() else { return false }
    defer { EVP_CIPHER_CTX_free(context) }
    return work(context)
  }
}
