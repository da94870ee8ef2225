#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Memory that grows by whole chunks and goes all at once. What was handed out never moves.
struct Arena: ~Copyable {
  private var chunks: [UnsafeMutableRawBufferPointer] = []
  /// How many of the chunks are in use; those behind were used before ``reset()``.
  private var used = 0
  private var next: UnsafeMutableRawPointer?
  private var left = 0

  private static let hugePage = 2 << 20
  /// Up to here chunks cost what is written to them; larger ones come in huge pages.
  private static let largestSmall = 1 << 20

  deinit {
    for chunk in chunks { Self.unmap(chunk) }
  }

  /// Takes back everything that was handed out, and keeps the memory for what comes next.
  mutating func reset() {
    used = 0
    next = nil
    left = 0
  }

  /// Room for `count` bytes, aligned to 8.
  @inline(__always)
  mutating func allocate(_ count: Int) -> UnsafeMutableRawPointer {
    let size = (count &+ 7) & ~7
    guard let start = next, left >= size else { return allocateChunk(size) }
    next = start + size
    left &-= size
    return start
  }

  private mutating func allocateChunk(_ size: Int) -> UnsafeMutableRawPointer {
    while used < chunks.count {
      let chunk = chunks[used]
      used += 1
      if chunk.count >= size { return start(chunk, size) }
    }
    let previous = chunks.last?.count ?? 256
    let grown = min(previous * 4, 4 * Self.hugePage)
    let isSmall = previous < Self.largestSmall && grown > Self.largestSmall
    let chunk = Self.map(max(size, isSmall ? Self.largestSmall : grown))
    chunks.append(chunk)
    used += 1
    return start(chunk, size)
  }

  private mutating func start(
    _ chunk: UnsafeMutableRawBufferPointer, _ size: Int
  ) -> UnsafeMutableRawPointer {
    guard let start = chunk.baseAddress else { preconditionFailure("a chunk is never empty") }
    next = start + size
    left = chunk.count - size
    return start
  }

  private static func unmap(_ chunk: UnsafeMutableRawBufferPointer) {
    if chunk.count >= hugePage, chunk.count % hugePage == 0 {
      munmap(chunk.baseAddress, chunk.count)
    } else {
      chunk.deallocate()
    }
  }

  /// Lets the kernel find and clear pages on another core, while the first of the chunk are filled:
  /// on this one it would take a quarter of the time of a large response.
  ///
  /// Only a request: an older kernel refuses it, and when the chunk is gone already, pages are found for
  /// what stands in its place, whose content does not change.
  private static func prefault(_ start: UnsafeMutableRawPointer, _ count: Int) {
    let address = UInt(bitPattern: start)
    Task(priority: .high) {
      // MADV_POPULATE_WRITE: https://man7.org/linux/man-pages/man2/madvise.2.html
      _ = madvise(UnsafeMutableRawPointer(bitPattern: address), count, 23)
    }
  }

  /// Small chunks come from the allocator, large ones from the kernel with huge pages asked for.
  private static func map(_ count: Int) -> UnsafeMutableRawBufferPointer {
    guard count >= hugePage else { return .allocate(byteCount: count, alignment: 16) }
    let size = (count + hugePage - 1) / hugePage * hugePage
    // One huge page more than wanted, so that the chunk can begin on a huge page's boundary.
    let memory = mmap(
      nil, size + hugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory, memory != MAP_FAILED else {
      return .allocate(byteCount: count, alignment: 16)
    }
    let offset = (hugePage - Int(bitPattern: memory) % hugePage) % hugePage
    if offset > 0 { munmap(memory, offset) }
    munmap(memory + offset + size, hugePage - offset)
    madvise(memory + offset, size, MADV_HUGEPAGE)
    if size > hugePage { prefault(memory + offset + hugePage, size - hugePage) }
    return UnsafeMutableRawBufferPointer(start: memory + offset, count: size)
  }
}
