import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Field } from "../ui/Field.tsx"
import { useAction } from "../ui/FormDialog.tsx"
import { Problem } from "../ui/Problem.tsx"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"
import type { Claims } from "./queries.ts"

type Result = Wire["POST /api/oauth2/claims-config/preview"]["success"]

/** The id of an identity, also of one that is given by the e-mail address or name that it signs in with. */
const subjectOf = async (user: string) => {
  if (!user.includes("@")) return user
  const { identities } = await call("GET /v1/auth/identities", { query: { identifier: user } })
  const [found] = identities
  if (found === undefined) throw new Error(`No user signs in as ${user}`)
  return found.id
}

/** What a user's tokens would have, by the configuration as it is on the page. */
export const Preview = ({ config }: { config: Claims }) => {
  const [user, setUser] = useState("")
  const [scope, setScope] = useState("openid email profile")
  const [result, setResult] = useState<Result>()
  const { busy, failure, go } = useAction(() =>
    user.trim() === ""
      ? undefined
      : subjectOf(user.trim())
          .then((subject) =>
            call("POST /api/oauth2/claims-config/preview", {
              payload: { subject, scope: scope.split(/\s+/).filter((name) => name !== ""), config }
            })
          )
          .then(setResult)
  )
  return (
    <section className="part" aria-label="Preview">
      <header>
        <h3>Preview</h3>
      </header>
      <form
        className="oauth-more"
        onSubmit={(event) => {
          event.preventDefault()
          go()
        }}
      >
        <Field label="User" value={user} placeholder="ann@example.com, or an id" onText={setUser} />
        <Field label="Granted scopes" value={scope} onText={setScope} />
        <span>
          <Button type="submit" icon="eye" busy={busy}>
            Preview
          </Button>
        </span>
      </form>
      {failure !== undefined ? (
        <Problem error={failure} title="There is no preview" />
      ) : result === undefined ? null : (
        <div className="claims-preview" aria-live="polite">
          <h4>ID token and userinfo</h4>
          <pre className="oauth-json">{JSON.stringify(result.id_token_claims, null, 2)}</pre>
          <h4>Access token</h4>
          <pre className="oauth-json">{JSON.stringify(result.access_token_claims, null, 2)}</pre>
        </div>
      )}
    </section>
  )
}
