import { spawn } from "node:child_process"
import { symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert } from "vitest"
import { filesOf, type Step, stepsOf } from "./readme.ts"
import { root } from "../service.ts"

/** One bash process that runs all commands; `run` returns the output of a command. */
const shell = (cwd: string, env: Readonly<Record<string, string>>) => {
  const bash = spawn("bash", [], { cwd, env: { PATH: process.env["PATH"] ?? "", ...env }, stdio: "pipe" })
  bash.stderr.pipe(process.stderr)
  let output = ""
  let onOutput = () => {}
  bash.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text
    onOutput()
  })
  const run = (command: string) =>
    new Promise<string>((done) => {
      output = ""
      onOutput = () => {
        const end = output.indexOf("\n--end of command--\n")
        if (end >= 0) done(output.slice(0, end))
      }
      bash.stdin.write(`${command}\necho; echo '--end of command--'\n`)
    })
  /** Also kills background jobs. */
  const end = () => bash.stdin.end("kill $(jobs -p) 2> /dev/null\n")
  return { run, end }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text.trim()
  }
}

/** Whether a text matches the expected one, in which `…` matches any text. */
const matches = (wanted: string, given: string) => {
  const [first = "", ...others] = wanted.split("…")
  const last = others.pop()
  if (last === undefined) return given === wanted
  if (!given.startsWith(first)) return false
  let at = first.length
  for (const piece of others) {
    const found = given.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return given.endsWith(last) && given.length >= at + last.length
}

/** The actual value, with the expected value in place of every part that a `…` matches. */
const wild = (wanted: unknown, given: unknown): unknown => {
  if (wanted === "…") return given === undefined ? "nothing" : wanted
  if (typeof wanted === "string" && typeof given === "string") return matches(wanted, given) ? wanted : given
  if (typeof wanted !== "object" || typeof given !== "object" || wanted === null || given === null) return given
  if (Array.isArray(given)) return given.map((one, i) => wild((wanted as Array<unknown>)[i], one))
  return Object.fromEntries(
    Object.entries(given).map(([name, one]) => [name, wild((wanted as Record<string, unknown>)[name], one)])
  )
}

/** Compares JSON as JSON, and everything else as text; `…` matches anything, also within a text. */
const assertAnswer = (answer: string, { command, expected }: Step) => {
  const wanted = parsed(expected)
  assert.deepStrictEqual(wild(wanted, parsed(answer)), wanted, command)
}

export interface GuidedTour {
  /** Markdown. Its files are written first, then its `console` blocks are run. */
  readonly guide: string
  /** The working directory, in which programs can import this project's packages. */
  readonly directory: string
  /** Replaces the addresses in a text with those of the test. */
  readonly here: (text: string) => string
  readonly env?: Readonly<Record<string, string>>
  /** Called after each step with the command as written in the guide and its output, for the reader's manual steps. */
  readonly after?: (command: string, answer: string) => Promise<void>
}

/** Runs the commands of a guide, and compares their output with the guide's. */
export const followGuide = async ({ after, directory, env = {}, guide, here }: GuidedTour) => {
  await symlink(join(root, "node_modules"), join(directory, "node_modules"), "dir")
  for (const { name, text } of filesOf(guide)) await writeFile(join(directory, name), here(text))
  const { end, run } = shell(directory, env)
  try {
    for (const { command, expected } of stepsOf(guide)) {
      const answer = await run(here(command))
      assertAnswer(answer, { command, expected: here(expected) })
      await after?.(command, answer)
    }
  } finally {
    end()
  }
}
