import { type Pattern } from "../pattern.ts"
import { access } from "./access.ts"
import { bodies } from "./bodies.ts"
import { connections } from "./connections.ts"
import { descriptions } from "./descriptions.ts"
import { embeds } from "./embeds.ts"
import { flags } from "./flags.ts"
import { functions } from "./functions.ts"
import { realtime } from "./realtime.ts"
import { searches } from "./searches.ts"
import { shapes } from "./shapes.ts"
import { storage } from "./storage.ts"
import { unreadAnswers } from "./unread.ts"

export const patterns: ReadonlyArray<Pattern> = [
  ...shapes,
  ...bodies,
  ...functions,
  ...embeds,
  ...unreadAnswers,
  ...searches,
  ...descriptions,
  ...flags,
  ...realtime,
  ...storage,
  ...access,
  ...connections
]

export const patternOf = (name: string): Pattern => {
  const found = patterns.find((pattern) => pattern.name === name)
  if (found === undefined)
    throw new Error(`No pattern ${name}; there are ${patterns.map(({ name }) => name).join(", ")}`)
  return found
}
