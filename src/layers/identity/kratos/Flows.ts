import { Effect } from "effect"
import { type Conflict } from "../../../domain/errors.ts"
import { type Credential } from "../../../domain/identity/Identity.ts"
import { type FlowError, type RelayedCookies } from "../../../services/ports/IdP.ts"
import { broken, type CsrfPair, decoded, type Kratos, type KratosCall, relayed } from "./Client.ts"
import { changedMeanwhile, kratosFlowNotFound, flowRefused, type Refusal, kratosRefusalOf } from "./Refusal.ts"
import { type Node, WireFlow } from "./Wire.ts"
import { type UpstreamAnswer } from "../../net/Upstream.ts"

/**
 * Browser flows of Kratos, in JSON: only these support all factors, and they accept tokens as well as cookies. No state
 * is kept between calls: flows are stored at Kratos, and a CSRF pair is not bound to a flow.
 */
interface Flow {
  readonly id: string
  readonly expiresAt: string | null
  readonly nodes: ReadonlyArray<Node>
  readonly csrf: CsrfPair
  readonly cookies: RelayedCookies
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
export const isFlowId = (text: string) => uuid.test(text)

const csrfName = /^csrf_token_[0-9a-f]+=[^;]+/

/** The CSRF pair of a response that sets the cookie. */
const pairOf = (answer: UpstreamAnswer): CsrfPair | undefined => {
  const cookie = answer.setCookies.map((line) => csrfName.exec(line)?.[0]).find((found) => found !== undefined)
  return cookie === undefined ? undefined : { cookie, token: cookie.slice(cookie.indexOf("=") + 1) }
}

const read = decoded(WireFlow)

/** A GET that returns a flow and a new CSRF pair. */
const get = Effect.fnUntraced(function* (kratos: Kratos, call: KratosCall) {
  const answer = yield* kratos.call(call)
  if (answer.status !== 200) return yield* flowRefused(kratos, call, answer)
  const { expires_at, id, ui } = yield* read(call, answer)
  const csrf = pairOf(answer)
  if (csrf === undefined) return yield* broken(call, answer.status, "no CSRF cookie")
  const flow: Flow = {
    id,
    expiresAt: expires_at ?? null,
    nodes: ui.nodes ?? [],
    csrf,
    cookies: relayed(answer, call.credential)
  }
  return flow
})

/** Starts a settings flow, which shows the current state of the account. */
export const beginSettings = (kratos: Kratos, credential: Credential) =>
  get(kratos, { method: "GET", path: "/self-service/settings/browser", credential })

/** Reads an earlier settings flow, in its state of that time. Distinguishes unknown, foreign and expired flows. */
export const openSettings = (kratos: Kratos, credential: Credential, flowId: string) =>
  isFlowId(flowId)
    ? get(kratos, { method: "GET", path: `/self-service/settings/flows?id=${flowId}`, credential })
    : Effect.fail(kratosFlowNotFound())

/** Starts a login flow, without a session. */
export const beginLogin = (kratos: Kratos) => get(kratos, { method: "GET", path: "/self-service/login/browser" })

/** Maps a refusal that has a special meaning for one call. */
export type FlowMeaning = (refusal: Refusal) => FlowError | undefined

interface Submitted {
  readonly nodes: ReadonlyArray<Node>
  readonly cookies: RelayedCookies
}

/** Sends a form; `retry` gets another CSRF pair if Kratos rejects this one, as after a change of its secrets. */
export const post = Effect.fnUntraced(function* <E>(
  kratos: Kratos,
  call: KratosCall & { readonly csrf: CsrfPair },
  retry: Effect.Effect<{ readonly csrf: CsrfPair }, E>
) {
  const send = (csrf: CsrfPair) => kratos.call({ ...call, csrf, body: { ...call.body, csrf_token: csrf.token } })
  const answer = yield* send(call.csrf)
  if (kratosRefusalOf(answer).id !== "security_csrf_violation") return answer
  return yield* send((yield* retry).csrf)
})

/** One submit of a flow at a time: two concurrent ones would register a key twice, which makes it unusable. */
const alone = <A, E>(kratos: Kratos, flowId: string, submit: Effect.Effect<A, E>): Effect.Effect<A, E | Conflict> =>
  Effect.suspend((): Effect.Effect<A, E | Conflict> => {
    if (kratos.submitting.has(flowId)) return Effect.fail(changedMeanwhile())
    kratos.submitting.add(flowId)
    return Effect.ensuring(
      submit,
      Effect.sync(() => kratos.submitting.delete(flowId))
    )
  })

/** Submits one method of a settings flow. `csrf` may come from another flow. */
export const submitSettings = Effect.fnUntraced(function* (
  kratos: Kratos,
  credential: Credential,
  flowId: string,
  csrf: CsrfPair,
  body: Readonly<Record<string, unknown>>,
  meaning?: FlowMeaning
) {
  if (!isFlowId(flowId)) return yield* kratosFlowNotFound()
  const call = { method: "POST", path: `/self-service/settings?flow=${flowId}`, credential, csrf, body } as const
  const sent = post(kratos, call, openSettings(kratos, credential, flowId))
  const answer = yield* alone(kratos, flowId.toLowerCase(), sent)
  if (answer.status !== 200) return yield* flowRefused(kratos, call, answer, meaning)
  const { ui } = yield* read(call, answer)
  const submitted: Submitted = { nodes: ui.nodes ?? [], cookies: relayed(answer, credential) }
  return submitted
})

/** The input nodes of a name. */
export const inputs = (nodes: ReadonlyArray<Node>, name: string) =>
  nodes.filter(({ attributes }) => attributes.name === name).map(({ attributes }) => attributes)

/** The context of a text node. */
export const textContext = (nodes: ReadonlyArray<Node>, id: string) =>
  nodes.find(({ attributes }) => attributes.id === id)?.attributes.text?.context ?? undefined

/** The options that a page would pass to the browser's WebAuthn API. */
export const optionsOf = (nodes: ReadonlyArray<Node>, name: string): Readonly<Record<string, unknown>> | undefined => {
  const value = inputs(nodes, name)[0]?.value
  if (typeof value !== "string") return undefined
  try {
    const { publicKey } = JSON.parse(value) as { readonly publicKey?: unknown }
    return typeof publicKey === "object" && publicKey !== null ? { ...publicKey } : undefined
  } catch {
    return undefined
  }
}
