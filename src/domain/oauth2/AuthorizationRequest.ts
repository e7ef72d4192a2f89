/** What an authorization request says of the sign-in itself (OpenID Connect Core 3.1.2.1). */
export interface SignInWishes {
  /** Nobody may be asked anything. */
  readonly silent: boolean
  /** Somebody must sign in now, whoever is signed in. */
  readonly again: boolean
  /** s since the last sign-in; undefined: any. */
  readonly maxAge: number | undefined
}

export const signInWishes = (requestUrl: string): SignInWishes => {
  const params = URL.canParse(requestUrl) ? new URL(requestUrl).searchParams : new URLSearchParams()
  const prompts = (params.get("prompt") ?? "").split(" ")
  const maxAge = params.get("max_age") ?? ""
  return {
    silent: prompts.includes("none"),
    again: prompts.includes("login"),
    maxAge: /^\d{1,9}$/.test(maxAge) ? Number(maxAge) : undefined
  }
}
