import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { root } from "../../support/service.ts"

const print = "process.stdout.write(JSON.stringify([process.env.A, process.env.B, process.env.C]))"

/** Runs a program as npm's scripts do, in a directory with this `.env`. */
const run = (file?: string | Uint8Array) => {
  const cwd = mkdtempSync(join(tmpdir(), "svc-dotEnv-"))
  try {
    if (file !== undefined) writeFileSync(join(cwd, ".env"), file)
    const program = ["--import", join(root, "src/layers/process/dotEnv.ts"), "--eval", print]
    const { status, stdout, stderr } = spawnSync(process.execPath, program, {
      cwd,
      env: { PATH: process.env["PATH"], B: "environment", C: "" },
      encoding: "utf8"
    })
    return { status, stdout, stderr }
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}

describe("a file .env", () => {
  it("sets variables that are missing in the environment", () => {
    const { status, stdout, stderr } = run('A="two words" # and a comment\nB=file\nC=file\n')
    assert.deepStrictEqual(
      { status, stdout, stderr },
      { status: 0, stdout: '["two words","environment",""]', stderr: "" }
    )
  })

  it("may be missing, without output", () => {
    assert.deepStrictEqual(run(), { status: 0, stdout: '[null,"environment",""]', stderr: "" })
  })

  it("fails the start with one line if it is not text", () => {
    const { status, stdout, stderr } = run(Buffer.from("\uFEFFA=1\n", "utf16le"))
    assert.deepStrictEqual({ status, stdout }, { status: 1, stdout: "" })
    assert.match(stderr, /^svc: Failed to read \/.*\/\.env: [^\n]*utf-8\n$/)
  })
})
