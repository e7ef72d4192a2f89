import { spawn } from "node:child_process"
import { mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, it } from "vitest"
import { makeDataDir, removeDataDir } from "../support/postgres.ts"
import { filesOf, freePort, readReadme, type Step, stepsOf } from "../support/readme.ts"
import { root, startService } from "../support/service.ts"

/** One bash for all commands; each gives what it prints. */
const shell = (cwd: string, env: Readonly<Record<string, string>>) => {
  const bash = spawn("bash", [], { cwd, env: { PATH: process.env["PATH"] ?? "", ...env }, stdio: "pipe" })
  bash.stderr.pipe(process.stderr)
  let output = ""
  let heard = () => {}
  bash.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text
    heard()
  })
  const run = (command: string) =>
    new Promise<string>((done) => {
      output = ""
      heard = () => {
        const end = output.indexOf("\n--end of command--\n")
        if (end >= 0) done(output.slice(0, end))
      }
      bash.stdin.write(`${command}\necho; echo '--end of command--'\n`)
    })
  /** Takes what still runs in the background along. */
  const end = () => bash.stdin.end("kill $(jobs -p) 2> /dev/null\n")
  return { run, end }
}

/** JSON is compared as JSON, everything else as text; `…` stands for anything. */
const assertAnswer = (answer: string, { command, expected }: Step) => {
  const parsed = (text: string): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      return text.trim()
    }
  }
  const wild = (wanted: unknown, given: unknown): unknown => {
    if (wanted === "…") return given === undefined ? "nothing" : wanted
    if (typeof wanted !== "object" || typeof given !== "object" || wanted === null || given === null) return given
    if (Array.isArray(given)) return given.map((one, i) => wild((wanted as Array<unknown>)[i], one))
    return Object.fromEntries(
      Object.entries(given).map(([name, one]) => [name, wild((wanted as Record<string, unknown>)[name], one)])
    )
  }
  const wanted = parsed(expected)
  assert.deepStrictEqual(wild(wanted, parsed(answer)), wanted, command)
}

it("the README's quick start does what it says", async () => {
  const readme = await readReadme()
  const steps = stepsOf(readme)
  assert.isAbove(steps.length, 15)
  const directory = await makeDataDir()
  await mkdir(join(directory, ".svc"), { mode: 0o711 })
  const dataDir = join(directory, ".svc")
  // As `npm start` would have it, but for the port: the secret is made and kept in the data directory.
  const ports = { "4000": await freePort(), "4001": await freePort(), "8013": await freePort() }
  const env = { SVC_JWT_SECRET: "", WEBHOOK_ALLOW_PRIVATE: "true", FLAGS_PORT: String(ports["8013"]) }
  const service = await startService({ dataDir, env })
  // Programs of the README find their packages here, as they do in the project's directory.
  await symlink(join(root, "node_modules"), join(directory, "node_modules"), "dir")
  /** The same on this test's addresses. */
  const here = (text: string) =>
    Object.entries(ports).reduce(
      (text, [port, free]) => text.replaceAll(new RegExp(`\\b${port}\\b`, "g"), String(free)),
      text.replaceAll("127.0.0.1:3000", new URL(service.url).host)
    )
  for (const { name, text } of filesOf(readme)) await writeFile(join(directory, name), here(text))
  const { end, run } = shell(directory, {})
  try {
    for (const step of steps) {
      assertAnswer(await run(here(step.command)), step)
    }
  } finally {
    end()
    await service[Symbol.asyncDispose]()
    await removeDataDir(dataDir)
    await removeDataDir(directory)
  }
})
