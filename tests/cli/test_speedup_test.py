"""`perfarray speedup-test`: what is printed, and where."""

from cli.test_compare import run


def test_a_benchmark_without_spread_is_a_row_and_no_warning(tmp_path, monkeypatch):
    """The table says that it cannot conclude; the library's remedy is written in Python."""
    monkeypatch.setenv("COLUMNS", "120")
    for name, values in {"one": "1.0", "other": "1.1", "old": "1.0 1.1 1.05 1.02", "new": "0.9 0.8 0.85 0.95"}.items():
        (tmp_path / name).write_text("\n".join(values.split()) + "\n")
    (tmp_path / "bench.csv").write_text("Name,Sample1,Sample2,ConfLevel,Coef\na,one,other,0.95,1\nb,old,new,0.95,1\n")
    result = run("speedup-test", tmp_path / "bench.csv")
    assert (result.exit_code, result.stderr) == (0, "")
    assert next(line for line in result.stdout.splitlines() if line.strip().startswith("a ")).count("no") >= 2
