import { session } from "../wire/session.ts"

const prefix = "#sign-in="
let failure: string | undefined

/** Why the link of this page load did not sign in; undefined if there was none. */
export const linkFailure = () => failure

/**
 * Signs in with the link that `npm start` prints: its token is in the fragment, which is sent to no server. It is removed
 * from the address and the history before anything else happens.
 */
export const signInByLink = async () => {
  if (!location.hash.startsWith(prefix)) return session.load()
  const link = location.hash.slice(prefix.length)
  history.replaceState(null, "", location.pathname + location.search)
  try {
    await session.open({ link })
  } catch (error) {
    // Before the sign-in page appears, which shows it.
    failure = (error as Error).message
    await session.load()
  }
}
