import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { type ClientError } from "../../../src/domain/errors.ts"
import { OAuth2 } from "../../../src/services/ports/OAuth2.ts"
import { signedIn } from "./oauth2.ts"
import { refusal } from "../refusals.ts"

/** A call of every method of the port. */
export const all = Effect.map(OAuth2, (port) => ({
  login: port.login("c"),
  acceptLogin: port.acceptLogin("c", signedIn("ada")),
  rejectLogin: port.rejectLogin("c", { error: "e" }),
  consent: port.consent("c"),
  acceptConsent: port.acceptConsent("c", {
    grantScope: [],
    grantAudience: [],
    remember: true,
    rememberFor: 0,
    idTokenClaims: {},
    accessTokenClaims: {}
  }),
  rejectConsent: port.rejectConsent("c", { error: "e" }),
  logoutRequest: port.logoutRequest("c"),
  acceptLogout: port.acceptLogout("c"),
  rejectLogout: port.rejectLogout("c"),
  consents: port.consents("ada"),
  revokeConsents: port.revokeConsents("ada", undefined),
  revokeLogins: port.revokeLogins("ada"),
  clients: port.clients({ pageSize: 10 }),
  client: port.client("x"),
  createClient: port.createClient({}),
  mergeClientMetadata: port.mergeClientMetadata("x", { a: 1 }),
  removeClient: port.removeClient("x"),
  rotateSecret: port.rotateSecret("x")
}))

/** The result of every method, by its name. */
export const refusals = Effect.flatMap(all, (methods) =>
  Effect.forEach(Object.entries<Effect.Effect<unknown, ClientError>>(methods), ([name, method]) =>
    Effect.map(refusal(method), (answer) => [name, answer] as const)
  )
)

/** Asserts that all results are equal, except for those in `but`. */
export const assertAll = (
  expected: string,
  answers: ReadonlyArray<readonly [string, string]>,
  but: Record<string, string> = {}
) => {
  assert.isAbove(answers.length, 15)
  for (const [name, answer] of answers) assert.strictEqual(answer, but[name] ?? expected, name)
}
