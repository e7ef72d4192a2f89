import { type WindowResult } from "../../domain/access/SlidingWindow.ts"
import { keyNumber } from "../../domain/access/CountLog.ts"
import { type Counts } from "../../services/ports/Counts.ts"
import { type CountLogFile } from "./CountLogFile.ts"

/** The counts of a log that this process and others write. */
export const sharedCounts = (log: CountLogFile): (typeof Counts)["Service"] => ({
  windows: (window) => ({
    take: (key, limit, now) => log.append({ kind: "take", window, key: keyNumber(key), limit, now }) as WindowResult
  }),
  realtimeClients: () => ({
    enter: (limit) => log.append({ kind: "enter", limit }) === true,
    leave: () => void log.append({ kind: "leave" }),
    taken: () => {
      log.catchUp()
      return log.taken
    }
  })
})
