import { spawn } from "node:child_process"
import { symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert } from "vitest"
import { filesOf, type Step, stepsOf } from "./readme.ts"
import { root } from "../service.ts"

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

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text.trim()
  }
}

/** Whether a text is as wanted, where `…` stands for anything. */
const isAs = (wanted: string, given: string) => {
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

/** What was given, but as it was wanted wherever that allows it. */
const wild = (wanted: unknown, given: unknown): unknown => {
  if (wanted === "…") return given === undefined ? "nothing" : wanted
  if (typeof wanted === "string" && typeof given === "string") return isAs(wanted, given) ? wanted : given
  if (typeof wanted !== "object" || typeof given !== "object" || wanted === null || given === null) return given
  if (Array.isArray(given)) return given.map((one, i) => wild((wanted as Array<unknown>)[i], one))
  return Object.fromEntries(
    Object.entries(given).map(([name, one]) => [name, wild((wanted as Record<string, unknown>)[name], one)])
  )
}

/** JSON is compared as JSON, everything else as text; `…` stands for anything, also within a text. */
const assertAnswer = (answer: string, { command, expected }: Step) => {
  const wanted = parsed(expected)
  assert.deepStrictEqual(wild(wanted, parsed(answer)), wanted, command)
}

export interface GuidedTour {
  /** Markdown: its `console` blocks are done, its files written before. */
  readonly guide: string
  /** Where; programs find this project's packages there. */
  readonly directory: string
  /** The same text on this test's addresses. */
  readonly here: (text: string) => string
  readonly env?: Readonly<Record<string, string>>
  /** What a person does after a step: its command, as it stands in the guide, and what it printed. */
  readonly after?: (command: string, answer: string) => Promise<void>
}

/** Does what a guide says, and compares what comes of it. */
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
