import { Effect } from "effect"
import { baseUrl, integer } from "../domain/Settings.ts"

/**
 * The URL of this service in what leaves it without a request of a browser, such as links in e-mails, and as the issuer of
 * tokens: PUBLIC_URL, else its port on this machine. Never taken from a request, whose Host header anyone can choose.
 */
export const ownUrl = Effect.gen(function* () {
  return (yield* baseUrl("PUBLIC_URL")) ?? `http://localhost:${yield* integer("PORT", 3000, 0, 65_535)}`
})
