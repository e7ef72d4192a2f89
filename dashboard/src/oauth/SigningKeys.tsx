import { useQuery, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"

/** The keys that sign this service's tokens; nothing where it has none. */
export const SigningKeys = () => {
  const queries = useQueryClient()
  const [rotating, setRotating] = useState(false)
  const { data } = useQuery({
    queryKey: ["oauth2", "keys"],
    queryFn: ({ signal }) => call("GET /.well-known/jwks.json", { signal }),
    retry: false
  })
  if (data === undefined || data.keys.length === 0) return null
  return (
    <section className="part" aria-label="Signing keys">
      <header>
        <h3>Signing keys</h3>
        <Button onClick={() => setRotating(true)}>Rotate</Button>
      </header>
      <p className="soft">
        Others verify the tokens of this service by its public keys at{" "}
        <a href="/.well-known/jwks.json">/.well-known/jwks.json</a>:{" "}
        {data.keys.map(({ kid }, at) => (
          <span key={String(kid)}>
            {at === 0 ? "" : ", "}
            <code>{String(kid)}</code>
          </span>
        ))}
        .
      </p>
      {rotating ? (
        <Confirm
          title="Sign with a new key?"
          verb="Rotate keys"
          onClose={() => setRotating(false)}
          run={async () => {
            const { kid } = await call("POST /api/oauth2/keys/rotate")
            toast(`Tokens are signed with ${kid}`)
            await queries.invalidateQueries({ queryKey: ["oauth2", "keys"] })
          }}
        >
          <p>New tokens are signed with a new key. Tokens of the old one are valid until they end, 30 days at most.</p>
        </Confirm>
      ) : null}
    </section>
  )
}
