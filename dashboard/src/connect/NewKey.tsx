import { useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { useAction } from "../ui/FormDialog.tsx"
import { Problem } from "../ui/Problem.tsx"
import { copy } from "../ui/toast.ts"
import { call } from "../wire/call.ts"

interface NewKeyProps {
  readonly type: "anon" | "service_role"
  readonly label: string
  /** Requests per minute; null: unlimited. */
  readonly limit: number | null
  /** The key that was created. */
  readonly secret: string | undefined
  readonly onSecret: (secret: string) => void
  /** Asks the service with the key; completes with what to say. */
  readonly check: (secret: string) => Promise<string>
}

/** Creates a key that the snippets of the page then contain, and tries it. It is kept nowhere else. */
export const NewKey = ({ check, label, limit, onSecret, secret, type }: NewKeyProps) => {
  const client = useQueryClient()
  const create = useAction(async () => {
    const made = await call("POST /api/keys/", { payload: { keyType: type, label, rate_limit: limit } })
    void client.invalidateQueries({ queryKey: ["keys"] })
    onSecret(made.secret)
  })
  const tried = useAction(async () => {
    setAnswer(undefined)
    setAnswer(await check(secret ?? ""))
  })
  const [answer, setAnswer] = useState<string>()
  if (secret === undefined) {
    return (
      <div className="connect-key">
        <Button kind="main" icon="key" busy={create.busy} onClick={create.go}>
          Create {type === "anon" ? "an anon" : "a service_role"} key
        </Button>
        <span className="soft">
          or use one that you have kept; <Link to="/keys">all keys</Link>
        </span>
        {create.failure === undefined ? null : <Problem error={create.failure} title="The key was not created" />}
      </div>
    )
  }
  return (
    <div className="connect-key">
      <code className="secret">{secret}</code>
      <Button icon="copy" onClick={() => void copy(secret, "Key")}>
        Copy
      </Button>
      <Button kind="main" icon="play" busy={tried.busy} onClick={tried.go}>
        Try it
      </Button>
      <span className="soft">It is shown until you leave this page, and then never again.</span>
      {answer === undefined ? null : (
        <p role="status" className="connect-answer">
          {answer}
        </p>
      )}
      {tried.failure === undefined ? null : <Problem error={tried.failure} title="The request failed" />}
    </div>
  )
}
