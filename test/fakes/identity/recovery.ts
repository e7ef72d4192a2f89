import { randomBytes, randomUUID } from "node:crypto"
import { again, begin, checkNoBrowser, input, needMethod, submitted } from "./flows.ts"
import { type Flow, type State } from "./state.ts"
import { type Call, checkCsrf, deviceOf, failure, redirect, type Reply, sessionOf, setSession } from "./wire.ts"

const checkNobody = (state: State, call: Call) => {
  if (sessionOf(state, call) === undefined) return
  const reason = "A valid session was detected and thus recovery is not possible."
  throw failure({ status: 400, id: "session_already_available", reason })
}

/** GET /self-service/recovery/browser and …/api */
export const beginRecovery = (state: State, call: Call, type: Flow["type"]): Reply => {
  if (!state.settings.methods.link)
    throw failure({ status: 400, reason: "You attempted recovery using link, which is not enabled or does not exist." })
  checkNobody(state, call)
  const furnish = (flow: Flow) => {
    flow.nodes = [input("link", "email"), input("link", "method", "link")]
  }
  return begin(state, call, { kind: "recovery", type, furnish })
}

/** An expired flow always redirects to another one. */
const over = (state: State, flow: Flow) =>
  redirect(`${state.baseUrl}self-service/recovery/flows?id=${again(state, flow).id}`)

/** POST /self-service/recovery?flow=: sends a message with a link if the address exists. */
export const submitRecovery = (state: State, call: Call): Reply => {
  const flow = submitted(state, call, "recovery")
  checkNobody(state, call)
  if (flow.expiresAt < Date.now() || flow.state === "passed_challenge") return over(state, flow)
  needMethod(state, "link")
  if (flow.type === "api") checkNoBrowser(state, flow, call)
  else checkCsrf(state, call)
  const email = String(call.body["email"])
  const address = [...state.people.values()]
    .flatMap(({ addresses }) => addresses)
    .find(({ value }) => value.toLowerCase() === email.toLowerCase())
  if (address !== undefined) send(state, flow, address.value)
  flow.state = "sent_email"
  const text = "An email containing a recovery link has been sent to the email address you provided."
  flow.messages = [{ id: 1_060_002, text, type: "info" }]
  return { status: 200, body: { id: flow.id, type: flow.type, state: flow.state, ui: uiOf(state, flow) } }
}

const uiOf = (state: State, { id, messages, nodes }: Flow) => ({
  action: `${state.baseUrl}self-service/recovery?flow=${id}`,
  method: "POST",
  nodes,
  messages
})

const send = (state: State, flow: Flow, recipient: string) => {
  const token = randomBytes(24).toString("hex")
  flow.secret.links = [...(flow.secret.links ?? []), token]
  const link = `${state.baseUrl}self-service/recovery?flow=${flow.id}&token=${token}`
  state.messages.unshift({
    id: randomUUID(),
    recipient,
    subject: "Recover access to your account",
    body: `Recover access to your account by clicking the following link:\n\n${link}\n`,
    createdAt: new Date().toISOString()
  })
}

/** GET /self-service/recovery?flow=&token=: the link of a message, valid once. Always a redirect. */
export const openLink = (state: State, call: Call): Reply => {
  const flow = submitted(state, call, "recovery")
  const token = call.url.searchParams.get("token") ?? ""
  const recipient = state.messages.find(({ body }) => token !== "" && body.includes(`token=${token}\n`))?.recipient
  const person = recipient === undefined ? undefined : state.byIdentifier(recipient)
  if (person === undefined || flow.secret.links?.includes(token) !== true || flow.expiresAt < Date.now())
    return redirect(`${state.settings.uiUrls.recovery}?flow=${again(state, flow).id}`)
  delete flow.secret.links
  flow.state = "passed_challenge"
  for (const address of person.addresses) if (address.value === recipient) address.verified = true
  const session = state.open(person, "link_recovery", deviceOf(call))
  return redirect(`${state.settings.uiUrls.settings}?flow=${randomUUID()}`, [setSession(state, session)])
}
