import { setTimeout as sleep } from "node:timers/promises"
import { signedToken } from "../isolation/callers.ts"
import { makeClient } from "../isolation/client.ts"
import { type Asked } from "./requests.ts"
import { sub, type Target } from "./target.ts"

interface Address {
  readonly url: string
  readonly anon: string
  readonly service_role: string
  readonly jwtSecret: string
}

/** The service at its address. */
export const overHttp = ({ anon, jwtSecret, service_role, url }: Address): Target => {
  const client = makeClient(url)
  const token = signedToken(jwtSecret, sub)
  const credentials: Readonly<Record<Asked["role"], Readonly<Record<string, string>>>> = {
    anon: { apikey: anon },
    authenticated: { apikey: anon, authorization: `Bearer ${token}` },
    service_role: { apikey: service_role }
  }
  let last = ""
  const ask = async ({ accept, body, method, path, prefer, role, schema }: Asked) => {
    const sent = client.send({
      method,
      path: `/v1/db/${path}`,
      headers: {
        ...credentials[role],
        ...(prefer && { prefer }),
        ...(accept && { accept }),
        "accept-profile": schema,
        "content-profile": schema
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    // A CSV of which a later row fails is cut off.
    const answer = await sent.catch(() => undefined)
    last = `${answer?.status} ${answer?.text}`
    return { done: (answer?.status ?? 500) < 300, clean: undefined }
  }
  return {
    ask,
    caughtUp: async (_, marker) => {
      const until = Date.now() + 20_000
      while (!(await ask({ role: "anon", method: "GET", path: marker, schema: "public" })).done) {
        if (Date.now() > until) throw new Error(`The service has not read the new definitions within 20 s: ${last}`)
        await sleep(5)
      }
    },
    [Symbol.asyncDispose]: async () => client.close()
  }
}
