import { useState } from "react"
import type { Shown } from "./Output.tsx"

const nothing: Shown = { tag: "nothing" }

/** What each query of the window has come to, and which of them run. */
export const useRuns = () => {
  const [shown, setShown] = useState<ReadonlyMap<number, Shown>>(new Map())
  const [running, setRunning] = useState<ReadonlyMap<number, AbortController>>(new Map())
  const show = (slot: number, next: Shown) => setShown((all) => new Map(all).set(slot, next))
  return {
    of: (slot: number) => shown.get(slot) ?? nothing,
    isRunning: (slot: number) => running.has(slot),
    stop: (slot: number) => running.get(slot)?.abort(),
    show,
    /** Until it is there, what was shown stays; also if it is stopped. A query runs once at a time. */
    run: async (slot: number, start: (signal: AbortSignal) => Promise<Shown>) => {
      running.get(slot)?.abort()
      const controller = new AbortController()
      setRunning((all) => new Map(all).set(slot, controller))
      const next = await start(controller.signal)
      if (!controller.signal.aborted) show(slot, next)
      setRunning((all) => {
        const left = new Map(all)
        if (left.get(slot) === controller) left.delete(slot)
        return left
      })
    }
  }
}
