import { randomUUID } from "node:crypto"
import { type Flow, type FlowKind, type FormNode, type Method, type Session, type State } from "./state.ts"
import {
  type Call,
  csrfOf,
  csrfPair,
  csrfViolation,
  failure,
  iso,
  masked,
  missing,
  redirect,
  Refused,
  type Reply,
  sessionOf
} from "./wire.ts"

const message = (id: number, text: string, type: string) => ({ id, text, type })

export const errorText = (id: number, text: string) => message(id, text, "error")
const saved = message(1_050_001, "Your changes have been saved!", "success")

/** A form's field or button. */
export const input = (group: string, name: string, value?: unknown, meta: unknown = {}): FormNode => ({
  type: "input",
  group,
  attributes: { name, type: "text", ...(value === undefined ? {} : { value }), disabled: false, node_type: "input" },
  messages: [],
  meta
})

export const textNode = (group: string, id: string, text: string, context: unknown): FormNode => ({
  type: "text",
  group,
  attributes: { id, node_type: "text", text: { ...message(1_050_006, text, "info"), context } },
  messages: [],
  meta: {}
})

export const flowJson = (state: State, flow: Flow) => ({
  id: flow.id,
  type: flow.type,
  expires_at: iso(flow.expiresAt),
  issued_at: iso(flow.issuedAt),
  request_url: flow.requestUrl,
  ...(flow.returnTo === undefined ? {} : { return_to: flow.returnTo }),
  ui: {
    action: `${state.baseUrl}self-service/${flow.kind}?flow=${flow.id}`,
    method: "POST",
    nodes: [input("default", "csrf_token", flow.type === "api" ? "" : masked(flow.csrf)), ...flow.nodes],
    messages: flow.messages
  },
  state: flow.state,
  ...(flow.kind === "login" ? { refresh: flow.refresh, requested_aal: flow.aal } : {})
})

interface Wanted {
  readonly kind: FlowKind
  readonly type: "api" | "browser"
  readonly person?: Session["person"]
  readonly aal?: "aal1" | "aal2"
  readonly refresh?: boolean
  readonly furnish: (flow: Flow) => void
}

/** Creates and stores a flow; returns the response of the call that started it. */
export const begin = (state: State, call: Call, wanted: Wanted): Reply => {
  const { cookies, value } = wanted.type === "api" ? { cookies: [], value: "" } : csrfPair(state, call)
  const now = Date.now()
  const flow: Flow = {
    id: randomUUID(),
    kind: wanted.kind,
    type: wanted.type,
    issuedAt: now,
    expiresAt: now + state.settings.flowSeconds * 1000,
    requestUrl: new URL(`${call.url.pathname}${call.url.search}`, state.baseUrl).href,
    returnTo: returnTo(state, call),
    csrf: value,
    person: wanted.person,
    aal: wanted.aal ?? "aal1",
    refresh: wanted.refresh ?? false,
    state: wanted.kind === "settings" ? "show_form" : "choose_method",
    nodes: [],
    messages: [],
    secret: {}
  }
  wanted.furnish(flow)
  state.flows.set(flow.id, flow)
  return wanted.type === "api" || call.json
    ? { status: 200, body: flowJson(state, flow), cookies }
    : redirect(`${state.settings.uiUrls[wanted.kind]}?flow=${flow.id}`, cookies)
}

/** The return_to of a request, if it is allowed. */
const returnTo = (state: State, call: Call) => {
  const given = call.url.searchParams.get("return_to")
  if (given === null) return undefined
  const allowed = [...state.settings.allowedReturnUrls, state.baseUrl]
  if (URL.canParse(given) && allowed.some((prefix) => within(new URL(given), new URL(prefix)))) return given
  throw failure({
    status: 400,
    id: "self_service_flow_return_to_forbidden",
    reason: `Requested return_to URL "${given}" is not allowed.`
  })
}

const within = (url: URL, prefix: URL) => url.origin === prefix.origin && url.pathname.startsWith(prefix.pathname)

const expired = (state: State, flow: Flow) =>
  failure({
    status: 410,
    id: "self_service_flow_expired",
    reason: "The flow has expired",
    // As in Kratos, another flow exists already.
    more: { expired_at: iso(flow.expiresAt), since: Date.now() - flow.expiresAt, use_flow_id: again(state, flow).id }
  })

/** The successor of an expired flow. */
export const again = (state: State, flow: Flow) => {
  const lifespan = state.settings.flowSeconds * 1000
  const next: Flow = { ...flow, id: randomUUID(), expiresAt: Date.now() + lifespan, secret: {}, messages: [] }
  state.flows.set(next.id, next)
  return next
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** GET of a stored flow: 404, 403, 410 or the flow as it is. */
export const show = (state: State, call: Call, kind: FlowKind): Reply => {
  const flow = state.flows.get(call.url.searchParams.get("id") ?? "")
  const { cookies } = csrfPair(state, call)
  const refuse = (refused: Refused) => new Refused({ ...refused.reply, cookies })
  if (flow?.kind !== kind) throw refuse(missing())
  // Only settings forms can be read without their own cookie.
  if (flow.type === "browser" && kind !== "settings" && csrfOf(state, call) !== flow.csrf) throw refuse(csrfViolation())
  if (kind === "settings" && flow.person !== sessionOf(state, call)?.person) throw refuse(foreign())
  if (flow.expiresAt < Date.now()) {
    const reason = "The flow has expired. Redirect the user to the flow init endpoint to initialize a new one."
    throw refuse(failure({ status: 410, reason }))
  }
  return { status: 200, body: flowJson(state, flow), cookies }
}

export const foreign = () =>
  failure({
    status: 403,
    id: "security_identity_mismatch",
    reason: "The request was made for another identity and has been blocked for security reasons."
  })

/** The flow of a submit, which may have expired. */
export const submitted = (state: State, call: Call, kind: FlowKind): Flow => {
  const id = call.url.searchParams.get("flow") ?? ""
  if (!uuid.test(id)) throw failure({ status: 400, reason: "The flow query parameter is missing or malformed." })
  const flow = state.flows.get(id.toLowerCase())
  if (flow?.kind !== kind) throw missing()
  return flow
}

export const needFresh = (state: State, flow: Flow) => {
  if (flow.expiresAt < Date.now()) throw expired(state, flow)
}

/** API flows must not come from a browser. */
export const checkNoBrowser = (state: State, flow: Flow, { cookies, headers }: Call) => {
  const foreign = [...cookies.keys()].some((name) => !/^(__cf|_cf|cf_)/.test(name))
  if (headers["origin"] !== undefined || foreign)
    throw refusedForm(state, flow, [
      errorText(4_000_001, 'The HTTP Request Header included the "Cookie" or "Origin" key, indicating a browser')
    ])
}

export const needMethod = (state: State, method: Method) => {
  if (!state.settings.methods[method])
    throw failure({ status: 404, reason: "This endpoint was disabled by system administrator. Please check your url." })
}

/** 400: the form with an error of the form or of one field. */
export const refusedForm = (state: State, flow: Flow, messages: ReadonlyArray<unknown>, field?: string) => {
  const form = { ...flow, messages: field === undefined ? messages : [] }
  form.nodes = flow.nodes.map((node) => (node.attributes["name"] === field ? { ...node, messages } : node))
  return new Refused({ status: 400, body: flowJson(state, form) })
}

export const succeeded = (state: State, flow: Flow, cookies: ReadonlyArray<string>): Reply => {
  flow.state = "success"
  flow.messages = [saved]
  return { status: 200, body: flowJson(state, flow), cookies }
}
