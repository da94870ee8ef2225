#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Memory that grows by chunks and is released at once. Allocated memory never moves.
struct Arena: ~Copyable {
  private var chunks: [UnsafeMutableRawBufferPointer] = []
  /// The number of chunks in use; later ones are free since ``reset()``.
  private var used = 0
  private var next: UnsafeMutableRawPointer?
  private var left = 0

  private static let hugePage = 2 << 20
  /// The maximum size of chunks from the allocator; larger ones use huge pages.
  private static let largestSmall = 1 << 20

  deinit {
    for chunk in chunks { Self.unmap(chunk) }
  }

  /// Releases all allocations, and keeps the chunks for reuse.
  mutating func reset() {
    used = 0
    next = nil
    left = 0
  }

  /// Allocates `count` bytes, aligned to 8.
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

  /// Asks the kernel to allocate and clear the pages of a chunk on another core while its first
  /// pages are written; on this core that would take a quarter of the time of a large response.
  ///
  /// It is only a hint: older kernels ignore it. If the chunk is already released, pages are
  /// allocated for the memory that follows at the address, without changing it.
  private static func prefault(_ start: UnsafeMutableRawPointer, _ count: Int) {
    let address = UInt(bitPattern: start)
    Task(priority: .high) {
      // MADV_POPULATE_WRITE: https://man7.org/linux/man-pages/man2/madvise.2.html
      _ = madvise(UnsafeMutableRawPointer(bitPattern: address), count, 23)
    }
  }

  /// Allocates small chunks from the allocator, and large ones from the kernel with huge pages.
  private static func map(_ count: Int) -> UnsafeMutableRawBufferPointer {
    guard count >= hugePage else { return .allocate(byteCount: count, alignment: 16) }
    let size = (count + hugePage - 1) / hugePage * hugePage
    // One additional huge page, so that the chunk can be aligned to a huge page.
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
