# Homebrew on Linux, from the release's archives. `scripts/recipes` fills in what stands between @ signs.
class Prony < Formula
  desc "Hyperfine for servers: starts, verifies, loads and compares network servers"
  homepage "https://github.com/OWNER/prony"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on :linux

  on_intel do
    url "https://github.com/OWNER/prony/releases/download/v@VERSION@/prony-@VERSION@-x86_64-linux.tar.gz"
    sha256 "@SHA256_x86_64@"
  end

  on_arm do
    url "https://github.com/OWNER/prony/releases/download/v@VERSION@/prony-@VERSION@-aarch64-linux.tar.gz"
    sha256 "@SHA256_aarch64@"
  end

  def install
    bin.install "prony"
    man1.install Dir["man/*"]
    bash_completion.install "completions/prony.bash" => "prony"
    zsh_completion.install "completions/_prony"
    fish_completion.install "completions/prony.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/prony --version")
    assert_match "noisy-host", shell_output("#{bin}/prony explain noisy-host")
  end
end
