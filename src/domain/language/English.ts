import { passwordFaults } from "../identity/Password.ts"

/**
 * All texts that people read on pages and in e-mails. `{name}` and the like are filled in. Other languages have the type of
 * this object, so they are complete; test/domain/language compares what is filled in.
 */
export const English = {
  common: {
    cancel: "Cancel",
    continue: "Continue",
    remove: "Remove",
    signIn: "Sign in",
    signOut: "Sign out",
    email: "E-mail address",
    password: "Password",
    close: "You can close this page.",
    signedInAs: "You are signed in as {name}.",
    toAccount: "To your account",
    backToSignIn: "Back to sign in"
  },
  redirect: { title: "One moment", text: "You are being redirected." },

  login: {
    title: "Sign in",
    again: "Confirm that it is you",
    passkey: "Use a passkey",
    forgot: "Forgot your password?",
    register: "Create an account",
    with: "Continue with {name}"
  },
  passkey: {
    title: "Sign in with a passkey",
    text: "Your device will ask you to unlock it.",
    use: "Use a passkey",
    password: "Use a password"
  },
  register: {
    title: "Create an account",
    hint: "At least 8 characters. Several words are easy to remember and hard to guess.",
    submit: "Create an account",
    have: "I have an account"
  },
  factor: {
    title: "Second factor",
    heading: "Confirm that it is you",
    code: "Code of your authenticator app",
    useKey: "Use a security key",
    without: "Without them",
    recoveryCode: "Recovery code",
    useCode: "Use a recovery code"
  },
  newPassword: {
    title: "New password",
    heading: "Choose a new password",
    text: "For {name}. You will be signed out everywhere else.",
    field: "New password",
    submit: "Set the password",
    later: "Not now"
  },
  recovery: {
    title: "Recover your account",
    ask: "We will send you a link and a code.",
    open: "Continue to your account"
  },
  verify: {
    title: "Confirm your address",
    ask: "We will send you a link and a code.",
    open: "Confirm my address"
  },
  signUp: {
    password: "The password that you chose when you signed up",
    unknown:
      "If you did not sign up yourself, or do not know the password, continue without it: everything that was set before is removed, and you can choose a password later.",
    without: "Continue without the password",
    wrong: "The password is wrong",
    later: "Too many attempts; retry later"
  },
  mailed: {
    send: "Send",
    title: "Check your e-mails",
    text: "If the address is right, a message is on its way. Open its link, or enter its code here.",
    code: "Code",
    another: "Send another message",
    over: "This link or code has expired or was used"
  },
  confirmed: { title: "Your address is confirmed", text: "Thank you." },
  signedOut: { title: "You are signed out" },

  account: {
    title: "Your account",
    unconfirmed: "This address is not confirmed.",
    confirm: "Confirm it",
    address: "Address",
    newAddress: "New e-mail address",
    changeAddress: "Change the address",
    password: "Password",
    setPassword: "Set a new password",
    passkeys: "Passkeys",
    used: "added {added}, used {used}",
    unused: "added {added}, never used",
    added: "added {added}",
    addPasskey: "Add a passkey",
    factors: "Second factor",
    app: "Authenticator app",
    setUp: "Set up",
    codes: "Recovery codes",
    none: "none",
    left: "{count} left",
    generate: "Generate",
    replace: "Replace",
    addKey: "Add a security key",
    sessions: "Signed in on",
    unknownDevice: "Unknown device",
    since: "since {time}",
    current: "this one",
    endOthers: "Sign out everywhere else",
    delete: "Delete the account",
    deleteMine: "Delete my account",
    sure: "Delete the account and all of its data",
    selectSure: "Select the box to delete the account"
  },
  links: {
    title: "Linked accounts",
    link: "Link",
    unlink: "Unlink"
  },
  totp: {
    title: "Authenticator app",
    heading: "Set up an authenticator app",
    text: "Scan the code with the app, or enter its key, or {link} if the app is on this device.",
    open: "open it there",
    picture: "QR code of the key below",
    code: "Code that the app shows",
    submit: "Add the app"
  },
  codes: {
    title: "Recovery codes",
    heading: "Your recovery codes",
    text: "Keep them where only you can read them. Each signs you in once when your second factor is lost. They are not shown again.",
    stored: "I have stored them"
  },
  keys: {
    passkeyTitle: "Add a passkey",
    keyTitle: "Add a security key",
    passkeyName: "Passkey",
    keyName: "Security key",
    name: "Name of the key",
    add: "Add it",
    noScript: "Keys need JavaScript, which is turned off in this browser.",
    known: "This key is registered already.",
    unused: "The key was not used. Try again, or use another way."
  },
  administrator: {
    title: "Become the administrator",
    text: "This service has no administrator yet. The link that you opened makes the first one, once.",
    create: "Create the administrator's account",
    make: "Make this account the administrator",
    done: "You are an administrator",
    doneText: "You can manage the service in its dashboard.",
    dashboard: "To the dashboard"
  },

  provider: {
    notSignedIn: "You could not be signed in with {name}",
    notLinked: "{name} was not linked"
  },
  /** Why a sign-in elsewhere failed, by the code of the error. */
  providerFailures: {
    PROVIDER_FAILED: "{name} does not respond. Please try again in a few minutes, or continue in another way.",
    PROVIDER_DENIED: "You cancelled it at {name}, or {name} does not allow it.",
    PROVIDER_SIGN_IN_NOT_RECENT:
      "{name} did not ask you to sign in again, so this does not show that it is you. Sign out here, and sign in again.",
    PROVIDER_ADDRESS_MISSING:
      "{name} did not tell us your e-mail address. Create an account here, and link {name} on its page.",
    PROVIDER_ADDRESS_UNVERIFIED:
      "{name} has not confirmed your e-mail address. Create an account here, and link {name} on its page.",
    LINK_NEEDS_SIGN_IN:
      "There is an account with your e-mail address already. Sign in to it as you did before, and link {name} on its page. If you can not sign in, recover the account.",
    REGISTRATION_CLOSED: "You have no account here, and only the operator creates new ones.",
    ACCOUNT_DISABLED: "Your account is disabled. Please ask the operator of this service.",
    LINK_TAKEN: "This account at {name} is linked to another account here. Unlink it there first.",
    LINK_EXISTS: "Another account at {name} is linked already. Unlink it first.",
    FLOW_EXPIRED: "This took too long, or was continued in another browser. Please start again.",
    FLOW_FORBIDDEN: "You have been signed out meanwhile. Sign in, and link {name} again.",
    ADDRESS_TAKEN: "There is an account with your e-mail address already. Sign in to it as you did before.",
    TOO_MANY_GUESSES: "Too many attempts. Please wait for a minute and try again."
  },

  /** Faults of a form, by the code of the error. */
  faults: {
    INVALID_CREDENTIALS: "The address or the password is wrong",
    PASSWORD_REQUIRED: "Enter the password that you chose. If you did not register, close this page",
    INVALID_REQUEST: "The entry is invalid",
    INVALID_CODE: "The code is wrong",
    INVALID_PASSKEY: "The passkey is unknown, or can't be verified",
    INVALID_WEBAUTHN: "The key can't be verified",
    ADDRESS_TAKEN: "There is an account with this address",
    FLOW_EXPIRED: "This took too long or was done already: begin again",
    TOO_MANY_GUESSES: "Too many attempts; retry in {seconds} s",
    SIGN_IN_BUSY: "Too many people are signing in; retry shortly",
    LAST_SIGN_IN_METHOD: "You could not sign in without it: set a password or add a passkey first",
    KEY_EXISTS: "This key is registered already",
    LINK_EXISTS: "Another account there is linked already: unlink it first",
    PROVIDER_FAILED: "The other service does not respond: try again in a few minutes",
    LINK_NOT_FOUND: "It is not linked any more",
    SESSION_NOT_FOUND: "This session has ended already"
  },
  address: "The e-mail address is invalid",
  passwordFaults,

  consent: {
    title: "Allow access?",
    asks: "{app} asks for access to your account",
    asksOf: "{app} asks for access to your {brand} account",
    switch: "Use another account",
    scopes: "If you allow it, the app can",
    nothing: "Know that you have signed in, and nothing else.",
    at: "At: {audiences}",
    remember: "Do not ask again for 30 days",
    allow: "Allow",
    deny: "Deny",
    redirected: "You will be redirected to {host}.",
    app: "{scheme} (an app)",
    terms: "Terms of service",
    privacy: "Privacy policy",
    data: "Read and change your data"
  },
  /** Scopes of OpenID Connect Core 5.4 and 11. */
  scopes: {
    openid: "Know who you are",
    profile: "See your name and the rest of your profile",
    email: "See your e-mail address",
    address: "See your postal address",
    phone: "See your phone number",
    offline: "Keep access while you are away",
    offline_access: "Keep access while you are away"
  },
  logout: {
    title: "Sign out?",
    of: "Sign out of {brand}?",
    text: "Apps that you use with this account will ask you to sign in again.",
    stay: "Stay signed in",
    stillTitle: "Still signed in",
    still: "You are still signed in"
  },
  oauth2Error: {
    title: "The app could not sign you in",
    other: "Please go back to the app and start again."
  },
  /** Errors that can't be returned to an app (RFC 6749 4.1.2.1, OpenID Connect Core 3.1.2.6). */
  oauth2Errors: {
    invalid_client: "The app is not registered with this service.",
    unauthorized_client: "The app may not sign users in this way.",
    invalid_request: "The app's request is not correct. Only the app's provider can fix this.",
    invalid_scope: "The app asks for something that it may not have.",
    unsupported_response_type: "The app's request is not correct. Only the app's provider can fix this.",
    request_forbidden:
      "The sign-in was continued in another browser, or cookies are blocked. Please start again at the app.",
    server_error: "A server has failed. Please try again in a few minutes.",
    temporarily_unavailable: "A server is busy. Please try again in a few minutes."
  },
  /** Whole pages for errors, by code. */
  failures: {
    INVALID_REQUEST: {
      title: "This link is incomplete or no longer valid",
      text: "Please go back to the app and start again."
    },
    CHALLENGE_NOT_FOUND: {
      title: "This link is incomplete or no longer valid",
      text: "Please go back to the app and start again."
    },
    CHALLENGE_EXPIRED: {
      title: "This took too long",
      text: "The request of the app has expired or was already answered. Please start again."
    },
    CHALLENGE_FORBIDDEN: {
      title: "You are signed in to another account",
      text: "The app asked for a different account. Go back to the app and start again to continue with this one, or sign out first."
    },
    CSRF: {
      title: "This page is out of date",
      text: "Your session has changed since it was opened. Please go back to the app and start again."
    },
    LINK_EXPIRED: {
      title: "This link is no longer valid",
      text: "It has expired or was used, or the service has an administrator already."
    },
    aal2_required: { title: "One more step", text: "Please confirm that it is you with your second factor." },
    reauthentication_required: {
      title: "One more step",
      text: "Your sign-in was some time ago. Please sign in again."
    },
    USE_IDP: {
      title: "Your account is kept elsewhere",
      text: "This service does not keep accounts itself. Please go back to the app and sign in there."
    },
    TOO_MANY_GUESSES: { title: "Too many attempts", text: "Please wait for a minute and try again." },
    NOT_CONFIGURED: { title: "Signing in is not set up", text: "Please tell the operator of this service." }
  },
  unavailable: {
    title: "Signing in is not possible at the moment",
    text: "A server that is needed for it does not respond. Please try again in a few minutes."
  },
  failed: { title: "Something went wrong", text: "Please go back to the app and start again." },

  mails: {
    link: "Open this page:",
    code: "or enter this code where you were asked for it: {code}",
    recovery: {
      subject: "Recover your account",
      intro: "Someone, probably you, asked to recover the account with this address.",
      outro: "If it was not you, ignore this message: nothing has changed."
    },
    verification: {
      subject: "Confirm your address",
      intro: "Confirm that this is your e-mail address.",
      outro: "If you do not know why you got this message, ignore it."
    },
    email: {
      subject: "Confirm your new address",
      intro: "Confirm that this is the new e-mail address of your account.",
      outro: "If you do not know why you got this message, ignore it."
    },
    registration: {
      subject: "Complete your registration",
      intro: "Confirm your e-mail address to create your account.",
      outro: "If you did not register, ignore this message: no account will be created."
    },
    signIn: {
      subject: "Sign in",
      intro: "Someone, probably you, asked to sign in with this address.",
      outro: "If it was not you, ignore this message: no session has begun."
    },
    invite: {
      subject: "You are invited",
      intro: "You are invited to create an account.",
      outro: "If you do not know why you got this message, ignore it."
    },
    again: {
      subject: "Confirm that it is you",
      intro: "A change of your account needs a confirmation.",
      outro: "If it was not you, set a new password."
    }
  },
  notices: {
    known: {
      subject: "You have an account already",
      text: "Someone, probably you, tried to register with this address, which has an account already. Sign in, or recover it."
    },
    password: {
      subject: "Your password was changed",
      text: "The password of your account was changed. If it was not you, recover your account at once."
    },
    address: {
      subject: "Your address will be changed",
      text: "A change of your account's address to {name} was requested. If it was not you, recover your account at once."
    },
    totp: {
      subject: "An authenticator app was added to your account",
      text: "Sign-ins to your account ask for a code of it now. If it was not you, recover your account at once."
    },
    key: {
      subject: "A security key was added to your account",
      text: "Sign-ins to your account ask for it now. If it was not you, recover your account at once."
    },
    passkey: {
      subject: "A passkey was added to your account",
      text: "It can sign in to your account now. If it was not you, recover your account at once."
    },
    codes: {
      subject: "New recovery codes were made for your account",
      text: "Each can replace your second factor once. If it was not you, recover your account at once."
    },
    linked: {
      subject: "{name} was linked to your account",
      text: "Your account at {name} can sign in to your account now. If it was not you, recover your account at once."
    }
  }
}
