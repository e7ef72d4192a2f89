import { Effect } from "effect"
import { statfs } from "node:fs/promises"
import { attempt, StartError } from "./StartError.ts"

export const inMib = (bytes: number): string => `${Math.ceil(bytes / 1_048_576)} MiB`

/** The free bytes in a directory; fails if they are fewer than `needed`. `subject` needs them, `remark` is a sentence about that. */
export const requireSpace = Effect.fnUntraced(function* (
  subject: string,
  directory: string,
  needed: number,
  remark: string
) {
  const { bavail, bsize } = yield* attempt(`Failed to read the free space of ${directory}`, () => statfs(directory))
  const free = bavail * bsize
  if (free >= needed) return free
  return yield* new StartError({
    message: `${subject} needs ${inMib(needed)} of free space in ${directory}, and ${inMib(free)} are free: make ${inMib(needed - free)} of space. ${remark}`
  })
})
