/** A process that sends many sign-ins at once, so that they do not delay the measurement of other requests. */
import { Agent, request } from "node:http"
import { serve } from "../support/remote.ts"

interface Flood {
  readonly url: string
  readonly count: number
}

const agent = new Agent({ maxSockets: Infinity })

const signIn = (url: string, index: number) =>
  new Promise<number>((resolve) => {
    const body = JSON.stringify({ identifier: `nobody${index}@bench.example`, password: "wrong password" })
    request(`${url}/api/auth/login`, {
      method: "POST",
      agent,
      headers: {
        "content-type": "application/json",
        "content-length": body.length,
        // Each of another client: the limit of one client's guesses would refuse most of them.
        "x-forwarded-for": `198.18.${index >> 8}.${index & 255}`
      }
    })
      .once("response", (response) => {
        response.resume().once("end", () => resolve(response.statusCode ?? 0))
      })
      .once("error", () => resolve(0))
      .end(body)
  })

/** How many responses had which status; 0 for broken connections. */
const run = async ({ count, url }: Flood) => {
  const statuses = await Promise.all(Array.from({ length: count }, (_, index) => signIn(url, index)))
  const counts: Record<string, number> = {}
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

const calls = { run }
export type FloodProcess = typeof calls
serve(calls)
