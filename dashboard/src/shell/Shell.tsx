import { Link, Outlet, useLocation } from "@tanstack/react-router"
import { useEffect, useRef, useState, useSyncExternalStore } from "react"
import { Asked } from "../ui/asked/Asked.tsx"
import { Icon } from "../ui/Icon.tsx"
import { isMod } from "../ui/keys.ts"
import { Toasts } from "../ui/Toasts.tsx"
import { isSettled, place } from "../wire/place.ts"
import { session } from "../wire/session.ts"
import { Palette } from "./Palette.tsx"
import { BranchGone, PlaceQuestion } from "./Place.tsx"
import { places } from "./places.ts"
import { rememberTable } from "./recent.ts"
import { SignInAgain, SignInPage } from "./SignIn.tsx"
import { Stale } from "./Stale.tsx"
import { TopBar } from "./TopBar.tsx"

const Navigation = ({ open }: { open: boolean }) => {
  const nav = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  // In low windows the list scrolls, and the page may be one of its last.
  useEffect(() => {
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" })
  }, [pathname])
  return (
    <nav ref={nav} className={`nav ${open ? "open" : ""}`} aria-label="Main">
      {places.map(([group, pages]) => (
        <div key={group}>
          <h2>{group}</h2>
          {pages.map(({ icon, name, to }) => (
            <Link key={to} to={to} activeOptions={{ includeSearch: false }} activeProps={{ "aria-current": "page" }}>
              <Icon name={icon} /> {name}
            </Link>
          ))}
        </div>
      ))}
    </nav>
  )
}

const Frame = ({ lost }: { lost: boolean }) => {
  const [palette, setPalette] = useState(false)
  const [drawer, setDrawer] = useState(false)
  const { pathname } = useLocation()
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (event.key === "Escape") setDrawer(false)
      if (event.key.toLowerCase() !== "k" || !isMod(event)) return
      event.preventDefault()
      setPalette(true)
    }
    addEventListener("keydown", keys)
    return () => removeEventListener("keydown", keys)
  }, [])
  useEffect(() => {
    setDrawer(false)
    if (/^\/tables\/[^/]+\/[^/]+$/.test(pathname)) rememberTable(pathname)
  }, [pathname])
  return (
    <div className={`shell ${place.branch !== undefined ? "on-branch" : ""}`}>
      <a className="skip" href="#content">
        Skip to content
      </a>
      <TopBar onNavigation={() => setDrawer(!drawer)} onPalette={() => setPalette(true)} />
      <Navigation open={drawer} />
      <main id="content" className="main-area" tabIndex={-1}>
        {isSettled ? (
          <>
            <BranchGone />
            <Stale />
            <Outlet />
          </>
        ) : (
          <PlaceQuestion />
        )}
      </main>
      {palette ? <Palette onClose={() => setPalette(false)} /> : null}
      {lost ? <SignInAgain /> : null}
    </div>
  )
}

export const Shell = () => {
  const state = useSyncExternalStore(session.subscribe, session.state)
  if (state === "unknown") return <p className="sr">Loading…</p>
  return (
    <>
      {state === "out" ? <SignInPage /> : <Frame lost={state === "lost"} />}
      <Asked />
      <Toasts />
    </>
  )
}
