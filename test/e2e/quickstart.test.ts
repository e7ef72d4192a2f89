import { spawn } from "node:child_process"
import { mkdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, it } from "vitest"
import { makeDataDir, removeDataDir } from "../support/postgres.ts"
import { root, startService } from "../support/service.ts"

interface Step {
  readonly command: string
  readonly expected: string
}

/** The README's `console` blocks: `$ ` begins a command, `> ` goes on with it, other lines are what it answers. */
const stepsOf = (readme: string): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  for (const [, block = ""] of readme.matchAll(/```console\n([^]*?)```/g)) {
    for (const line of block.trimEnd().split("\n")) {
      const last = steps.at(-1)
      if (line.startsWith("$ ")) steps.push({ command: line.slice(2), expected: "" })
      else if (last === undefined) throw new Error(`No command before: ${line}`)
      else if (line.startsWith("> "))
        steps[steps.length - 1] = { ...last, command: `${last.command}\n${line.slice(2)}` }
      else steps[steps.length - 1] = { ...last, expected: `${last.expected}${line}\n` }
    }
  }
  return steps
}

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
  return { run, end: () => bash.stdin.end() }
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
  const steps = stepsOf(await readFile(join(root, "README.md"), "utf8"))
  assert.isAbove(steps.length, 15)
  const directory = await makeDataDir()
  await mkdir(join(directory, ".svc"), { mode: 0o711 })
  const dataDir = join(directory, ".svc")
  // As `npm start` would have it, but for the port: the secret is made and kept in the data directory.
  const service = await startService({ dataDir, env: { SVC_JWT_SECRET: "" } })
  const { end, run } = shell(directory, {})
  try {
    for (const step of steps) {
      assertAnswer(await run(step.command.replace("http://127.0.0.1:3000", service.url)), step)
    }
  } finally {
    end()
    await service[Symbol.asyncDispose]()
    await removeDataDir(dataDir)
    await removeDataDir(directory)
  }
})
