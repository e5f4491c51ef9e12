# Homebrew: `brew update-python-resources perf2x` writes the resources of what Homebrew has no formula for.
class Perf2x < Formula
  include Language::Python::Virtualenv

  desc "@SUMMARY@"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "numpy"
  depends_on "python@3.14"

  def install
    virtualenv_install_with_resources
  end

  test do
    (testpath/"perf.data").write "no recording"
    assert_match "not a perf.data file", shell_output("#{bin}/perf2x convert perf.data --to pprof 2>&1", 1)
    assert_match version.to_s, shell_output("#{bin}/perf2x --version")
  end
end
