import { apiErrorOf } from "./ApiError.ts"
import type { Wire } from "./Wire.ts"

type SignedIn = Wire["GET /api/dashboard/session"]["success"]
type Config = Wire["GET /api/dashboard/config"]["success"]
type SignIn = Wire["POST /api/dashboard/session"]["payload"]

/** `unknown`: not asked yet. `lost`: it has ended while the page was open. */
export type SessionState = "unknown" | "in" | "out" | "lost"

const path = "/api/dashboard/session"
const json = async <A>(url: string, init?: RequestInit): Promise<A> => {
  const response = await fetch(url, init)
  const text = await response.text()
  if (!response.ok) throw apiErrorOf(response, text)
  return JSON.parse(text) as A
}

let state: SessionState = "unknown"
let author: SignedIn["author"] | undefined
const listeners = new Set<() => void>()
const waiting = new Set<() => void>()

const become = (next: SessionState, who?: SignedIn["author"]) => {
  state = next
  author = who ?? author
  if (next === "in") {
    for (const go of waiting) go()
    waiting.clear()
  }
  for (const listener of listeners) listener()
}

/** The session of this browser. Its cookie is HttpOnly: no script can read it, this one included. */
export const session = {
  state: () => state,
  author: () => author,
  subscribe: (listener: () => void) => {
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  },

  /** Whether the browser is signed in, here or at the identity provider. */
  load: async () => {
    const found = await json<SignedIn>(path).catch(() => undefined)
    become(found === undefined ? "out" : "in", found?.author)
  },

  open: async (by: SignIn) => {
    const body = JSON.stringify(by)
    const opened = await json<SignedIn>(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body
    })
    become("in", opened.author)
  },

  close: async () => {
    const identity = author?.type === "identity"
    await json(path, { method: "DELETE" })
    if (identity) await json("/api/auth/logout", { method: "POST" })
    author = undefined
    become("out")
  },

  /** Resolves once the user has signed in again. */
  renewed: (signal?: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      waiting.add(resolve)
      signal?.addEventListener("abort", () => {
        waiting.delete(resolve)
        reject(signal.reason as Error)
      })
      if (state === "in") become("lost")
    }),

  config: () => json<Config>("/api/dashboard/config")
}
