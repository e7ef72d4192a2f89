import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Field } from "../ui/Field.tsx"
import { ApiError } from "../wire/ApiError.ts"
import { session } from "../wire/session.ts"
import { linkFailure } from "./link.ts"

const messageOf = (error: unknown) => {
  if (!(error instanceof ApiError)) return "The service does not respond. Is it running?"
  return error.status === 401 ? "This key is unknown or revoked" : error.message
}

const Form = ({ again }: { again: boolean }) => {
  const [key, setKey] = useState("")
  const [problem, setProblem] = useState(linkFailure())
  const [busy, setBusy] = useState(false)
  const config = useQuery({ queryKey: ["config"], queryFn: session.config, staleTime: Number.POSITIVE_INFINITY })
  const login = config.data?.sign_in.idp_login_url ?? null
  const open = async () => {
    if (key.trim() === "") return setProblem("Enter a service_role key")
    setBusy(true)
    try {
      await session.open({ key: key.trim() })
    } catch (error) {
      setProblem(messageOf(error))
      setBusy(false)
    }
  }
  return (
    <form
      className="signin-form"
      onSubmit={(event) => {
        event.preventDefault()
        void open()
      }}
    >
      <img src="/dashboard/icon.svg" alt="" />
      <h1>{again ? "Sign in again" : "Sign in"}</h1>
      <p>
        {again
          ? "The session has ended. What you have typed is still here."
          : "With a service_role key. The browser keeps a session of its own, not the key."}
      </p>
      <Field
        label="Service key"
        type="password"
        autoComplete="current-password"
        placeholder="svc_sk_…"
        spellCheck={false}
        value={key}
        problem={problem}
        onText={(text) => {
          setKey(text)
          setProblem(undefined)
        }}
      />
      <Button kind="main" type="submit" busy={busy}>
        Sign in
      </Button>
      {login === null ? null : (
        <a className="button" href={login}>
          Sign in at the identity provider
        </a>
      )}
      <p className="hint">
        The first start saves a key in <code>.svc/keys.json</code>. If it is lost, run{" "}
        <code>npm run key -- service_role "dashboard"</code> on the server.
      </p>
    </form>
  )
}

export const SignInPage = () => (
  <main className="signin">
    <Form again={false} />
  </main>
)

/** Over the page whose session has ended. */
export const SignInAgain = () => (
  <Dialog label="Sign in again" className="signin-again">
    <Form again />
  </Dialog>
)
