import { createHash, randomUUID } from "node:crypto"
import { createServer, type IncomingMessage } from "node:http"
import { type AddressInfo } from "node:net"

export interface GitHubUser {
  readonly id: number
  readonly login: string
  readonly name: string | null
  readonly emails: ReadonlyArray<{ readonly email: string; readonly primary: boolean; readonly verified: boolean }>
}

/** The part of a GitHub Enterprise Server that signs people in. `user`: who is signed in there. */
export interface FakeGitHub extends AsyncDisposable {
  readonly url: string
  user: GitHubUser | undefined
  /** Lets it fail, or never answer. */
  state: "up" | "broken" | "silent"
  /** The codes, verifiers, secrets and tokens that went over the wire. */
  readonly seen: Array<string>
}

const read = async (request: IncomingMessage) => {
  let text = ""
  for await (const part of request) text += String(part)
  return new URLSearchParams(text)
}

export const startFakeGitHub = async (client: {
  readonly id: string
  readonly secret: string
}): Promise<FakeGitHub> => {
  const codes = new Map<string, { readonly challenge: string; readonly callback: string; readonly user: GitHubUser }>()
  const tokens = new Map<string, GitHubUser>()
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://github.invalid")
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json; charset=utf-8" }).end(JSON.stringify(body))
    const answer = async () => {
      if (fake.state === "silent") return
      if (fake.state === "broken") return json(500, { message: "Server Error" })
      const given = url.searchParams
      if (url.pathname === "/login/oauth/authorize") {
        const back = new URL(given.get("redirect_uri") ?? "")
        back.searchParams.set("state", given.get("state") ?? "")
        if (fake.user === undefined) back.searchParams.set("error", "access_denied")
        else {
          const code = randomUUID()
          codes.set(code, {
            challenge: given.get("code_challenge") ?? "",
            callback: given.get("redirect_uri")!,
            user: fake.user
          })
          back.searchParams.set("code", code)
        }
        return response.writeHead(302, { location: back.href }).end()
      }
      if (url.pathname === "/login/oauth/access_token") {
        const form = await read(request)
        const code = form.get("code") ?? ""
        const issued = codes.get(code)
        codes.delete(code)
        const verifier = form.get("code_verifier") ?? ""
        const right =
          issued?.challenge === createHash("sha256").update(verifier).digest("base64url") &&
          issued.callback === form.get("redirect_uri") &&
          form.get("client_id") === client.id &&
          form.get("client_secret") === client.secret
        // GitHub answers errors with 200.
        if (!right) return json(200, { error: "bad_verification_code", error_description: "The code is incorrect." })
        const token = `gho_${randomUUID()}`
        tokens.set(token, issued.user)
        const refresh_token = `ghr_${randomUUID()}`
        fake.seen.push(code, verifier, token, refresh_token, client.secret)
        return json(200, { access_token: token, refresh_token, token_type: "bearer", scope: "read:user,user:email" })
      }
      const user = tokens.get(String(request.headers.authorization).replace(/^bearer /i, ""))
      if (user === undefined) return json(401, { message: "Bad credentials" })
      const { emails, ...profile } = user
      if (url.pathname === "/api/v3/user") return json(200, profile)
      return url.pathname === "/api/v3/user/emails" ? json(200, emails) : json(404, { message: "Not Found" })
    }
    answer().catch((cause: unknown) => response.destroy(cause as Error))
  })
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done))
  const fake: FakeGitHub = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    user: undefined,
    state: "up",
    seen: [],
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((done) => void server.close(done))
    }
  }
  return fake
}
