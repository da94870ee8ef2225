# Formula for Homebrew on Linux, for a tap: brew install OWNER/tap/gqlrun
#
# `make release` writes a copy of this file with the checksum of the archive.
# Untested: it needs a release, and Homebrew.
class Gqlrun < Formula
  desc "GraphQL client with pipelines, a durable cache and batches"
  homepage "https://github.com/OWNER/gqlrun"
  url "https://github.com/OWNER/gqlrun/releases/download/v@VERSION@/gqlrun-@VERSION@-linux-x86_64.tar.xz"
  sha256 "@SHA256@"
  license "MIT"

  depends_on arch: :x86_64
  depends_on "ca-certificates"
  depends_on "gcc"
  depends_on "jq"
  depends_on "libpq"
  depends_on :linux
  depends_on "openssl@3"
  depends_on "sqlite"
  depends_on "yajl"
  depends_on "zlib"

  def install
    bin.install "bin/gqlrun"
    man1.install Dir["share/man/man1/*.1"]
    bash_completion.install "share/bash-completion/completions/gqlrun"
    zsh_completion.install "share/zsh/site-functions/_gqlrun"
    fish_completion.install "share/fish/vendor_completions.d/gqlrun.fish"
    pkgshare.install Dir["share/gqlrun/*"]
    # The libraries are those of Homebrew, wherever its prefix is.
    libraries = %w[openssl@3 sqlite yajl zlib gcc jq libpq].map { |name| Formula[name].opt_lib }
    libraries << (Formula["gcc"].opt_lib/"gcc/current")
    (libexec/"bin").install bin/"gqlrun"
    (bin/"gqlrun").write_env_script libexec/"bin/gqlrun", LD_LIBRARY_PATH: libraries.join(":")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/gqlrun --version")
    system bin/"gqlrun", "pipeline", "check", pkgshare/"pipelines/default.pipeline.yaml"
  end
end
