import GQLRunSupport
import Testing

@testable import GQLRunCrypto

@Suite("Hashes and sealed bytes")
struct CryptoTests {
  @Test(
    "hashes are those of the standards",
    arguments: [
      // FIPS 180-4 and RFC 1321, appendix A.5
      (
        HashFunction.sha256, "abc",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
      ),
      (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
      (.md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
    ])
  func vectors(function: HashFunction, text: String, hash: String) {
    #expect(QuotedText.hexadecimal(function.hash(text)) == hash)
    #expect(function.hash(text).count == function.size)
    #expect(function.isAvailable)
  }

  @Test("a function that libcrypto does not have is not available, as MD5 in FIPS mode")
  func unavailable() {
    #expect(!HashFunction(name: "MD6", size: 16).isAvailable)
  }

  @Test("a copy of a hash continues by itself")
  func copies() {
    var first = Hash()
    first.update("a")
    var second = first
    first.update("bc")
    second.update("x")
    var third = second
    #expect(first.finalize() == HashFunction.sha256.hash("abc"))
    #expect(second.finalize() == HashFunction.sha256.hash("ax"))
    third.update("y")
    #expect(third.finalize() == HashFunction.sha256.hash("axy"))
  }

  @Test("texts with their lengths stay distinct")
  func delimited() {
    func hash(_ texts: [String]) -> [UInt8] {
      var hash = Hash()
      for text in texts { hash.updateDelimited(text) }
      return hash.finalize()
    }
    #expect(hash(["ab", "c"]) != hash(["a", "bc"]))
    #expect(hash(["a"]) == HashFunction.sha256.hash("\0\0\0\0\0\0\0\u{1}a"))
  }

  @Test("keys are derived as RFC 5869 says")
  func derivation() {
    // Test case 3: neither salt nor info.
    let key = SealingKey(
      derivedFrom: String(repeating: "\u{b}", count: 22), purpose: "")
    #expect(key.base64Encoded == "jaTndaVjwY9xX4AqBjxaMbihH1xe4Yeew0VOXzxzjS0=")
  }

  @Test("bytes that another implementation has sealed are opened, changed ones are not")
  func opens() throws {
    let key = SealingKey(derivedFrom: "6:secret", purpose: "gqlrun token key")
    // Sealed by Python's cryptography.
    let text = "000102030405060708090a0b77c9d5dfad36c84f40bd57dd14262fa146a57361ebf3cbb971"
    let sealed = stride(from: 0, to: text.count, by: 2).compactMap { index in
      UInt8(text.dropFirst(index).prefix(2), radix: 16)
    }
    #expect(key.open(sealed) == Array(#"{"a":"b"}"#.utf8))
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(key.open(changed) == nil, "byte \(index)")
    }
    for count in 0..<sealed.count { #expect(key.open(Array(sealed.prefix(count))) == nil) }
    #expect(SealingKey(derivedFrom: "6:secret", purpose: "another").open(sealed) == nil)
  }

  @Test(
    "bytes of any length are sealed, each time with another nonce", arguments: [0, 1, 15, 16, 4096])
  func seals(count: Int) throws {
    let key = SealingKey(derivedFrom: "secret", purpose: "test")
    let plain = [UInt8](repeating: 7, count: count)
    let (one, other) = (try key.seal(plain), try key.seal(plain))
    #expect(one.count == count + 28 && one != other)
    #expect(key.open(one) == plain && key.open(other) == plain)
  }
}
