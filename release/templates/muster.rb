class Muster < Formula
  desc "Deploy sets of Kubernetes objects as one unit"
  homepage "{{.Homepage}}"
  version "{{.Number}}"
  license "Apache-2.0"
{{define "arch"}}{{if .}}      url "{{.URL}}"
      sha256 "{{.Sum}}"
{{end}}{{end}}
  on_macos do
    on_arm do
{{template "arch" .Archive "darwin" "arm64"}}    end
    on_intel do
{{template "arch" .Archive "darwin" "amd64"}}    end
  end

  on_linux do
    on_arm do
{{template "arch" .Archive "linux" "arm64"}}    end
    on_intel do
{{template "arch" .Archive "linux" "amd64"}}    end
  end

  def install
    bin.install "muster"
    bash_completion.install "completions/muster.bash" => "muster"
    zsh_completion.install "completions/_muster"
    fish_completion.install "completions/muster.fish"
    man1.install Dir["man/man1/*.1"]
  end

  test do
    assert_match "{{.Version}}", shell_output("#{bin}/muster version")
  end
end
