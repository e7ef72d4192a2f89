import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { root } from "../service.ts"

export interface Step {
  readonly command: string
  readonly expected: string
}

/** A file that the guide has the reader create. */
interface ReadmeFile {
  readonly name: string
  readonly text: string
}

/** The Markdown text of a file, by its path in the project. */
export const readGuide = (path: string) => readFile(join(root, path), "utf8")

/** A guide's `console` blocks: `$ ` starts a command, `> ` continues it, other lines are its output. */
export const stepsOf = (guide: string): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  for (const [, block = ""] of guide.matchAll(/```console\n([^]*?)```/g)) {
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

/** A guide's `js` and `html` blocks, named by their first line. */
export const filesOf = (guide: string): ReadonlyArray<ReadmeFile> =>
  [...guide.matchAll(/```(?:js\n\/\/ (\S+)|html\n<!-- (\S+) -->)\n([^]*?)```/g)].map(
    ([, program, page, text = ""]) => ({ name: program ?? page ?? "", text })
  )
