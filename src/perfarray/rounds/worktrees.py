"""Two commits of a repository, checked out side by side."""

import subprocess
from pathlib import Path


def commit_of(ref: str) -> str:
    """Return the hash of the commit that a branch, tag or the like names."""
    return _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", of=ref)


def check_out(commit: str, tree: Path) -> bool:
    """Make a worktree of a commit, unless it is there; return whether it is new."""
    is_new = not (tree / ".git").exists()
    if is_new:
        _git("worktree", "prune", of=commit)  # of folders that were deleted
        tree.parent.mkdir(parents=True, exist_ok=True)
        _git("worktree", "add", "--quiet", "--detach", str(tree), commit, of=commit)
    return is_new


def _git(*arguments: str, of: str) -> str:
    try:
        process = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ValueError("--git needs the program git, which was not found") from None
    if process.returncode:
        reason = (
            process.stderr.strip() or "there is no such commit in the repository of this folder"
        )
        raise ValueError(f"--git {of}: {reason}")
    return process.stdout.strip()
