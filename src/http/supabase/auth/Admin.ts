import { Effect, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { noPhones, validationFailed } from "../../../domain/supabase/AuthErrors.ts"
import { redirectOf } from "../../../domain/supabase/Redirects.ts"
import { shownUser } from "../../../domain/audit/Shown.ts"
import { describeChange } from "../../../services/audit/Change.ts"
import { type UserChange } from "../../../services/ports/supabase/AuthCalls.ts"
import { bodyOf, bool, type Call, empty, json, makeAuthRoutes, object, objectOr, present, shortText } from "./Access.ts"

const UserBody = Schema.Struct({
  id: shortText,
  aud: shortText,
  email: shortText,
  phone: shortText,
  phone_confirm: bool,
  password: shortText,
  password_hash: shortText,
  email_confirm: bool,
  user_metadata: object,
  app_metadata: object,
  role: shortText,
  ban_duration: shortText
})
const userOf = bodyOf(UserBody)
const inviteOf = bodyOf(Schema.Struct({ email: shortText, data: object }))
const linkOf = bodyOf(
  Schema.Struct({
    type: shortText,
    email: shortText,
    password: shortText,
    new_email: shortText,
    data: object,
    redirect_to: shortText
  })
)
const removalOf = bodyOf(Schema.Struct({ should_soft_delete: bool }))

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, ms: 0.001, us: 0, ns: 0 }
const maxBan = 100 * 365 * 24 * 3600

/** Seconds of a duration as Go writes it, such as `24h` or `1h30m`, or `none`. */
const secondsOf = (text: string): number | undefined => {
  if (text === "none") return 0
  if (text.length > 50 || !/^(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h))+$/.test(text)) return undefined
  const seconds = [...text.matchAll(/([\d.]+)(ns|us|ms|s|m|h)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (unitSeconds[unit ?? ""] ?? 0),
    0
  )
  return Math.min(seconds, maxBan)
}

const changeOf = Effect.fnUntraced(function* (given: typeof UserBody.Type) {
  if (present(given.phone) !== undefined || given.phone_confirm === true) return yield* noPhones
  const audience = present(given.aud)
  if (audience !== undefined && audience !== "authenticated") {
    return yield* validationFailed("aud must be authenticated: this server has one audience")
  }
  const ban = present(given.ban_duration)
  const banSeconds = ban === undefined ? undefined : secondsOf(ban)
  if (ban !== undefined && banSeconds === undefined) {
    return yield* validationFailed("ban_duration must be none or a duration such as 24h")
  }
  const role = present(given.role)
  if (role !== undefined && !/^[\w-]{1,63}$/.test(role))
    return yield* validationFailed("role must be a name of letters, digits, _ and -")
  const values = {
    email: present(given.email),
    password: present(given.password),
    passwordHash: present(given.password_hash),
    confirmed: given.email_confirm ?? undefined,
    userMetadata: given.user_metadata ?? undefined,
    appMetadata: given.app_metadata ?? undefined,
    role,
    banSeconds
  }
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as UserChange
})

/** A number of pages or of a page; clients send an empty text for none. */
const numberOf = (query: URLSearchParams, name: string, otherwise: number, most: number) => {
  const value = query.get(name) ?? ""
  if (value === "") return Effect.succeed(otherwise)
  return /^[1-9]\d{0,8}$/.test(value)
    ? Effect.succeed(Math.min(Number(value), most))
    : Effect.fail(validationFailed(`Bad Pagination Parameters: ${name} must be a number from 1`))
}

/** Whether the oldest come first: `sort=created_at asc`. */
const ascendingOf = (query: URLSearchParams) => {
  const sort = query.get("sort") ?? ""
  const [, direction = "desc"] = /^created_at(?: (asc|desc))?$/i.exec(sort) ?? []
  return sort === "" || /^created_at(?: (?:asc|desc))?$/i.test(sort)
    ? Effect.succeed(direction.toLowerCase() === "asc")
    : Effect.fail(validationFailed("Bad Sort Parameters: sort must be created_at asc or created_at desc"))
}

const subjectOf = (id: string) => `identity:${id}`

const kinds = ["signup", "invite", "magiclink", "recovery", "email_change_current", "email_change_new"] as const

/** `/auth/v1/admin`, `/auth/v1/invite`: users, for service_role keys. */
export const AuthAdminRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { on, settings } = yield* makeAuthRoutes(router)
    const idOf = Effect.map(HttpRouter.params, ({ id = "" }) => id)

    yield* on("GET", "/admin/users", "admin", ({ calls, query }) =>
      Effect.gen(function* () {
        const page = yield* numberOf(query, "page", 1, 1_000_000)
        const perPage = yield* numberOf(query, "per_page", 50, 1000)
        const filter = (query.get("filter") ?? "").slice(0, 300)
        const { total, users } = yield* calls.admin.list({
          page,
          perPage,
          filter,
          ascending: yield* ascendingOf(query)
        })
        const last = Math.max(1, Math.ceil(total / perPage))
        // Clients read the number of a page behind the first "=".
        const others = new URLSearchParams()
        for (const name of ["filter", "sort"]) if (query.get(name)) others.set(name, query.get(name) ?? "")
        const rest = others.size === 0 ? "" : `&${others.toString()}`
        const link = (to: number, rel: string) => `</admin/users?page=${to}&per_page=${perPage}${rest}>; rel="${rel}"`
        const links = [...(page < last ? [link(page + 1, "next")] : []), link(last, "last")]
        return json({ users, aud: "authenticated" }, { "x-total-count": String(total), link: links.join(", ") })
      })
    )
    yield* on("POST", "/admin/users", { admin: "create" }, (call) =>
      Effect.gen(function* () {
        const given = yield* userOf(call)
        const user = yield* call.calls.admin.create(present(given.id), yield* changeOf(given))
        yield* describeChange({ subject: subjectOf(user.id), after: shownUser(given) })
        return json(user)
      })
    )
    yield* on("GET", "/admin/users/:id", "admin", ({ calls }) =>
      Effect.map(Effect.flatMap(idOf, calls.admin.get), (user) => json(user))
    )
    yield* on("PUT", "/admin/users/:id", { admin: "update" }, (call) =>
      Effect.gen(function* () {
        const given = yield* userOf(call)
        yield* describeChange({ subject: subjectOf(yield* idOf), after: shownUser(given) })
        return json(yield* call.calls.admin.update(yield* idOf, yield* changeOf(given)))
      })
    )
    yield* on("DELETE", "/admin/users/:id", { admin: "remove" }, (call) =>
      Effect.gen(function* () {
        const { should_soft_delete: soft } = yield* removalOf(call)
        if (soft === true) yield* describeChange({ subject: subjectOf(yield* idOf), after: { soft } })
        yield* call.calls.admin.remove(yield* idOf, soft === true)
        return empty
      })
    )
    yield* on("GET", "/admin/users/:id/factors", "admin", ({ calls }) =>
      Effect.map(Effect.flatMap(idOf, calls.admin.factors), (factors) => json(factors))
    )
    yield* on("DELETE", "/admin/users/:id/factors/:factor", { admin: "remove_factor" }, ({ calls }) =>
      Effect.gen(function* () {
        const { factor = "", id = "" } = yield* HttpRouter.params
        yield* calls.admin.removeFactor(id, factor)
        return json({ id: factor })
      })
    )

    yield* on("GET", "/admin/users/:id/passkeys", "admin", ({ calls }) =>
      Effect.map(Effect.flatMap(idOf, calls.admin.passkeys), (passkeys) => json(passkeys))
    )
    yield* on("DELETE", "/admin/users/:id/passkeys/:passkey", { admin: "remove_passkey" }, ({ calls }) =>
      Effect.gen(function* () {
        const { id = "", passkey = "" } = yield* HttpRouter.params
        yield* calls.admin.removePasskey(id, passkey)
        return HttpServerResponse.empty({ status: 204 })
      })
    )

    yield* on("POST", "/invite", { admin: "invite" }, (call) =>
      Effect.gen(function* () {
        const { data, email } = yield* inviteOf(call)
        const { calls, redirectTo } = call
        const invited = { email: email ?? "", challenge: undefined, redirectTo, data: objectOr(data) }
        const user = yield* calls.admin.invite(invited)
        yield* describeChange({ subject: subjectOf(user.id) })
        return json(user)
      })
    )
    const generate = (call: Call) =>
      Effect.gen(function* () {
        const { data, email, new_email, password, redirect_to, type } = yield* linkOf(call)
        const kind = kinds.find((one) => one === type)
        if (kind === undefined) return yield* validationFailed(`type must be one of ${kinds.join(", ")}`)
        const redirectTo =
          redirect_to == null ? call.redirectTo : redirectOf(redirect_to, settings.site, settings.redirects)
        const { properties, user } = yield* call.calls.admin.generateLink({
          kind,
          email: email ?? "",
          password: present(password),
          newEmail: present(new_email),
          data: objectOr(data),
          challenge: undefined,
          redirectTo
        })
        yield* describeChange({ subject: subjectOf(user.id), after: { type: kind } })
        return json({ ...user, ...properties })
      })
    yield* on("POST", "/admin/generate_link", { admin: "generate_link" }, generate)
  })
)
