import { Effect, Option, Schema } from "effect"
import {
  type BadGateway,
  Conflict,
  Forbidden,
  Gone,
  InvalidRequest,
  NotFound,
  StepUpRequired,
  type Unauthorized,
  Unavailable
} from "../../../domain/errors.ts"
import { type FlowTrouble } from "../../../services/ports/IdP.ts"
import { broken, type Kratos, type KratosCall, unauthenticated } from "./Client.ts"
import { WireRefusal } from "./Wire.ts"
import { type UpstreamAnswer } from "../../net/Upstream.ts"

/** What can be told of an answer that is no success. */
export interface Refusal {
  readonly status: number
  /** Kratos's name for it, "" when it has none. */
  readonly id: string
  /** In Kratos's words; for the log and to tell apart what has no name. */
  readonly reason: string
  /** What is wrong with the form's fields and with it as a whole. */
  readonly messages: ReadonlyArray<{ readonly id: number; readonly text: string }>
  /** Whether the body is the form again. */
  readonly form: boolean
  readonly redirectTo: string
}

type About = Pick<KratosCall, "method" | "path">

const decode = Schema.decodeUnknownOption(WireRefusal)

export const refusalOf = (answer: UpstreamAnswer): Refusal => {
  const body = Option.getOrUndefined(decode(answer.body))
  const ui = body?.ui ?? undefined
  const messages = [...(ui?.nodes ?? []).flatMap((node) => node.messages ?? []), ...(ui?.messages ?? [])]
  return {
    status: answer.status,
    id: body?.error?.id ?? "",
    reason: `${body?.error?.message ?? ""} ${body?.error?.reason ?? ""}`.trim(),
    messages: messages.filter(({ type }) => type === "error"),
    form: ui !== undefined,
    redirectTo: body?.redirect_browser_to ?? ""
  }
}

const secondFactor = "A second factor is needed"
const freshSignIn = "The sign-in is too long ago; sign in again"

/** A second factor is due; `redirect_to` has no way back yet. */
const aal2Required = (kratos: Kratos) =>
  new StepUpRequired({ error: secondFactor, code: "aal2_required", redirect_to: kratos.loginUrl({ aal: "aal2" }) })

const reauthenticationRequired = (kratos: Kratos) =>
  new StepUpRequired({
    error: freshSignIn,
    code: "reauthentication_required",
    redirect_to: kratos.loginUrl({ refresh: "true" })
  })

export const flowNotFound = () => new NotFound({ error: "No such flow", code: "FLOW_NOT_FOUND" })
export const flowExpired = () => new Gone({ error: "The flow is over; begin again", code: "FLOW_EXPIRED" })

export const methodDisabled = () =>
  new Unavailable({ error: "The identity provider has this method turned off", code: "METHOD_DISABLED" })

/** What any call with a session may meet. */
const ofSession = (kratos: Kratos, { id, status }: Refusal): Unauthorized | StepUpRequired | undefined => {
  if (status === 401) return unauthenticated()
  if (status !== 403) return undefined
  if (id === "session_aal2_required") return aal2Required(kratos)
  return id === "session_refresh_required" ? reauthenticationRequired(kratos) : undefined
}

/** The flow knows no such method: of login, settings and recovery. */
const noStrategy = new Set([4_010_002, 4_010_004, 4_010_005])

export const changedMeanwhile = () =>
  new Conflict({ error: "The account is changed by another request at the same moment; try again" })

/**
 * Two changes of one identity at the same moment: Kratos stores its credentials anew and finds them there, which it
 * tells as "an account with the same identifier exists".
 */
const ofRace = ({ messages, status }: Refusal) =>
  status === 400 && messages.some(({ id }) => id === 4_000_007) ? changedMeanwhile() : undefined

/** What any call with a flow may meet. */
const ofFlow = (kratos: Kratos, call: About, refusal: Refusal): FlowTrouble | undefined => {
  const { form, id, messages, reason, redirectTo, status } = refusal
  switch (status) {
    case 303:
    case 410:
      // Kratos names or makes another flow; it has another secret, so it is no continuation.
      return flowExpired()
    case 400:
      if (!form) return undefined
      if (messages.some(({ id }) => noStrategy.has(id))) return methodDisabled()
      return new InvalidRequest({ error: messages[0]?.text.slice(0, 300) ?? "The identity provider refused the form" })
    case 403:
      return id === "security_identity_mismatch"
        ? new Forbidden({ error: "The flow is somebody else's", code: "FLOW_FORBIDDEN" })
        : undefined
    case 404:
      // Where no flow was named, nothing can be missing but the idp's own page.
      if (!call.path.includes("?")) return undefined
      return reason.includes("disabled by system administrator") ? methodDisabled() : flowNotFound()
    case 422:
      return URL.canParse(redirectTo) && new URL(redirectTo).searchParams.get("aal") === "aal2"
        ? aal2Required(kratos)
        : undefined
    default:
      return undefined
  }
}

/** Fails with what a refusal of a call with a session means. */
export const sessionRefused = (kratos: Kratos, call: About, answer: UpstreamAnswer) =>
  refused(call, answer, (refusal) => ofSession(kratos, refusal))

/** The same for a flow; `meaning` is asked first, for what is special to one. */
export const flowRefused = (
  kratos: Kratos,
  call: About,
  answer: UpstreamAnswer,
  meaning: (refusal: Refusal) => FlowTrouble | undefined = () => undefined
) =>
  refused<FlowTrouble>(
    call,
    answer,
    (refusal) => ofRace(refusal) ?? meaning(refusal) ?? ofSession(kratos, refusal) ?? ofFlow(kratos, call, refusal)
  )

const refused = <E>(
  call: About,
  answer: UpstreamAnswer,
  meaning: (refusal: Refusal) => E | undefined
): Effect.Effect<never, E | BadGateway> => {
  const refusal = refusalOf(answer)
  const error = meaning(refusal)
  return error === undefined
    ? broken(call, refusal.status, [refusal.id, refusal.reason].filter(Boolean).join(" "))
    : Effect.fail(error)
}
