import { type Words } from "./Language.ts"

// The soft hyphens allow narrow screens to break these words.
const recoveryCode = "Wiederherstellungs\u00adcode"
const securityKey = "Sicherheits\u00adschlüssel"
const startAgain = "Bitte gehen Sie zur App zurück und beginnen Sie von vorn."
const incomplete = { title: "Dieser Link ist unvollständig oder nicht mehr gültig", text: startAgain }
const incorrect = "Die Anfrage der App ist fehlerhaft. Nur der Anbieter der App kann das beheben."

/** German, with "Sie". */
export const German: Words = {
  common: {
    cancel: "Abbrechen",
    continue: "Weiter",
    remove: "Entfernen",
    signIn: "Anmelden",
    signOut: "Abmelden",
    email: "E-Mail-Adresse",
    password: "Passwort",
    close: "Sie können diese Seite schließen.",
    signedInAs: "Sie sind als {name} angemeldet.",
    toAccount: "Zu Ihrem Konto",
    backToSignIn: "Zurück zur Anmeldung"
  },
  redirect: { title: "Einen Moment", text: "Sie werden weitergeleitet." },

  login: {
    title: "Anmelden",
    again: "Bestätigen Sie, dass Sie es sind",
    passkey: "Passkey verwenden",
    forgot: "Passwort vergessen?",
    register: "Konto anlegen",
    with: "Weiter mit {name}"
  },
  passkey: {
    title: "Mit einem Passkey anmelden",
    text: "Ihr Gerät wird Sie bitten, es zu entsperren.",
    use: "Passkey verwenden",
    password: "Passwort verwenden"
  },
  register: {
    title: "Konto anlegen",
    hint: "Mindestens 8 Zeichen. Mehrere Wörter sind leicht zu merken und schwer zu erraten.",
    submit: "Konto anlegen",
    have: "Ich habe bereits ein Konto"
  },
  factor: {
    title: "Zweiter Faktor",
    heading: "Bestätigen Sie, dass Sie es sind",
    code: "Code Ihrer Authenticator-App",
    useKey: `${securityKey} verwenden`,
    without: "Ohne App und Schlüssel",
    recoveryCode,
    useCode: `${recoveryCode} verwenden`
  },
  newPassword: {
    title: "Neues Passwort",
    heading: "Wählen Sie ein neues Passwort",
    text: "Für {name}. Sie werden überall sonst abgemeldet.",
    field: "Neues Passwort",
    submit: "Passwort festlegen",
    later: "Nicht jetzt"
  },
  recovery: {
    title: "Konto wiederherstellen",
    ask: "Wir senden Ihnen einen Link und einen Code.",
    open: "Weiter zu Ihrem Konto"
  },
  verify: {
    title: "Adresse bestätigen",
    ask: "Wir senden Ihnen einen Link und einen Code.",
    open: "Meine Adresse bestätigen"
  },
  signUp: {
    password: "Das Passwort, das Sie bei der Registrierung gewählt haben",
    unknown:
      "Wenn Sie sich nicht selbst registriert haben oder das Passwort nicht kennen, fahren Sie ohne Passwort fort: Alles, was vorher eingerichtet wurde, wird entfernt, und Sie können später ein Passwort wählen.",
    without: "Ohne Passwort fortfahren",
    wrong: "Das Passwort ist falsch",
    later: "Zu viele Versuche; versuchen Sie es später noch einmal"
  },
  mailed: {
    send: "Senden",
    title: "Prüfen Sie Ihren Posteingang",
    text: "Wenn die Adresse stimmt, ist eine Nachricht unterwegs. Öffnen Sie den Link darin, oder geben Sie hier den Code ein.",
    code: "Code",
    another: "Noch eine Nachricht senden",
    over: "Dieser Link oder Code ist abgelaufen oder wurde schon verwendet"
  },
  confirmed: { title: "Ihre Adresse ist bestätigt", text: "Vielen Dank." },
  signedOut: { title: "Sie sind abgemeldet" },

  account: {
    title: "Ihr Konto",
    unconfirmed: "Diese Adresse ist nicht bestätigt.",
    confirm: "Jetzt bestätigen",
    address: "Adresse",
    newAddress: "Neue E-Mail-Adresse",
    changeAddress: "Adresse ändern",
    password: "Passwort",
    setPassword: "Neues Passwort festlegen",
    passkeys: "Passkeys",
    used: "hinzugefügt am {added}, zuletzt verwendet am {used}",
    unused: "hinzugefügt am {added}, noch nie verwendet",
    added: "hinzugefügt am {added}",
    addPasskey: "Passkey hinzufügen",
    factors: "Zweiter Faktor",
    app: "Authenticator-App",
    setUp: "Einrichten",
    codes: `${recoveryCode}s`,
    none: "keine",
    left: "noch {count}",
    generate: "Erzeugen",
    replace: "Ersetzen",
    addKey: `${securityKey} hinzufügen`,
    sessions: "Angemeldet auf",
    unknownDevice: "Unbekanntes Gerät",
    since: "seit {time}",
    current: "dieses Gerät",
    endOthers: "Überall sonst abmelden",
    delete: "Konto löschen",
    deleteMine: "Mein Konto löschen",
    sure: "Das Konto und alle seine Daten löschen",
    selectSure: "Setzen Sie den Haken, um das Konto zu löschen"
  },
  links: {
    title: "Verknüpfte Konten",
    link: "Verknüpfen",
    unlink: "Verknüpfung lösen"
  },
  totp: {
    title: "Authenticator-App",
    heading: "Authenticator-App einrichten",
    text: "Scannen Sie den Code mit der App, oder geben Sie dort den Schlüssel ein, oder {link}, wenn die App auf diesem Gerät ist.",
    open: "öffnen Sie ihn dort",
    picture: "QR-Code des Schlüssels, der darunter steht",
    code: "Code, den die App anzeigt",
    submit: "App hinzufügen"
  },
  codes: {
    title: `${recoveryCode}s`,
    heading: `Ihre ${recoveryCode}s`,
    text: "Bewahren Sie sie dort auf, wo nur Sie sie lesen können. Mit jedem können Sie sich einmal anmelden, wenn Ihr zweiter Faktor verloren ist. Sie werden nicht noch einmal angezeigt.",
    stored: "Ich habe sie gespeichert"
  },
  keys: {
    passkeyTitle: "Passkey hinzufügen",
    keyTitle: `${securityKey} hinzufügen`,
    passkeyName: "Passkey",
    keyName: "Sicherheitsschlüssel",
    name: "Name des Schlüssels",
    add: "Hinzufügen",
    noScript: "Schlüssel benötigen JavaScript, das in diesem Browser ausgeschaltet ist.",
    known: "Dieser Schlüssel ist bereits registriert.",
    unused: "Der Schlüssel wurde nicht verwendet. Versuchen Sie es noch einmal, oder wählen Sie einen anderen Weg."
  },
  administrator: {
    title: "Administrator werden",
    text: "Dieser Dienst hat noch keinen Administrator. Mit dem Link, den Sie geöffnet haben, wird einmalig der erste ernannt.",
    create: "Konto des Administrators anlegen",
    make: "Dieses Konto zum Administrator machen",
    done: "Sie sind Administrator",
    doneText: "Sie können den Dienst im Dashboard verwalten.",
    dashboard: "Zum Dashboard"
  },

  provider: {
    notSignedIn: "Die Anmeldung mit {name} war nicht möglich",
    notLinked: "{name} wurde nicht verknüpft"
  },
  providerFailures: {
    PROVIDER_FAILED:
      "{name} antwortet nicht. Bitte versuchen Sie es in ein paar Minuten noch einmal, oder wählen Sie einen anderen Weg.",
    PROVIDER_DENIED: "Sie haben bei {name} abgebrochen, oder {name} erlaubt es nicht.",
    PROVIDER_SIGN_IN_NOT_RECENT:
      "{name} hat Sie nicht noch einmal nach Ihrer Anmeldung gefragt, also zeigt das nicht, dass Sie es sind. Melden Sie sich hier ab und wieder an.",
    PROVIDER_ADDRESS_MISSING:
      "{name} hat uns Ihre E-Mail-Adresse nicht mitgeteilt. Legen Sie hier ein Konto an, und verknüpfen Sie {name} auf dessen Seite.",
    PROVIDER_ADDRESS_UNVERIFIED:
      "{name} hat Ihre E-Mail-Adresse nicht bestätigt. Legen Sie hier ein Konto an, und verknüpfen Sie {name} auf dessen Seite.",
    LINK_NEEDS_SIGN_IN:
      "Es gibt bereits ein Konto mit Ihrer E-Mail-Adresse. Melden Sie sich dort wie bisher an, und verknüpfen Sie {name} auf der Seite des Kontos. Wenn Sie sich nicht anmelden können, stellen Sie das Konto wieder her.",
    REGISTRATION_CLOSED: "Sie haben hier kein Konto, und nur der Betreiber legt neue an.",
    ACCOUNT_DISABLED: "Ihr Konto ist gesperrt. Bitte wenden Sie sich an den Betreiber dieses Dienstes.",
    LINK_TAKEN:
      "Dieses Konto bei {name} ist hier mit einem anderen Konto verknüpft. Lösen Sie zuerst dort die Verknüpfung.",
    LINK_EXISTS: "Ein anderes Konto bei {name} ist bereits verknüpft. Lösen Sie zuerst diese Verknüpfung.",
    FLOW_EXPIRED:
      "Es hat zu lange gedauert oder wurde in einem anderen Browser fortgesetzt. Bitte beginnen Sie von vorn.",
    FLOW_FORBIDDEN: "Sie wurden inzwischen abgemeldet. Melden Sie sich an, und verknüpfen Sie {name} noch einmal.",
    ADDRESS_TAKEN: "Es gibt bereits ein Konto mit Ihrer E-Mail-Adresse. Melden Sie sich dort wie bisher an.",
    TOO_MANY_GUESSES: "Zu viele Versuche. Bitte warten Sie eine Minute, und versuchen Sie es noch einmal."
  },

  faults: {
    INVALID_CREDENTIALS: "Die Adresse oder das Passwort ist falsch",
    PASSWORD_REQUIRED:
      "Geben Sie das Passwort ein, das Sie gewählt haben. Wenn Sie sich nicht registriert haben, schließen Sie diese Seite",
    INVALID_REQUEST: "Die Eingabe ist ungültig",
    INVALID_CODE: "Der Code ist falsch",
    INVALID_PASSKEY: "Der Passkey ist unbekannt oder kann nicht geprüft werden",
    INVALID_WEBAUTHN: "Der Schlüssel kann nicht geprüft werden",
    ADDRESS_TAKEN: "Es gibt bereits ein Konto mit dieser Adresse",
    FLOW_EXPIRED: "Es hat zu lange gedauert oder wurde schon erledigt: Beginnen Sie von vorn",
    TOO_MANY_GUESSES: "Zu viele Versuche; versuchen Sie es in {seconds} s noch einmal",
    SIGN_IN_BUSY: "Zu viele Personen melden sich gerade an; versuchen Sie es gleich noch einmal",
    LAST_SIGN_IN_METHOD:
      "Ohne das könnten Sie sich nicht mehr anmelden: Legen Sie zuerst ein Passwort fest, oder fügen Sie einen Passkey hinzu",
    KEY_EXISTS: "Dieser Schlüssel ist bereits registriert",
    LINK_EXISTS: "Ein anderes Konto dort ist bereits verknüpft: Lösen Sie zuerst diese Verknüpfung",
    PROVIDER_FAILED: "Der andere Dienst antwortet nicht: Versuchen Sie es in ein paar Minuten noch einmal",
    LINK_NOT_FOUND: "Die Verknüpfung besteht nicht mehr",
    SESSION_NOT_FOUND: "Diese Sitzung ist bereits beendet"
  },
  address: "Die E-Mail-Adresse ist ungültig",
  passwordFaults: {
    long: "Das Passwort darf höchstens 256 Zeichen lang sein",
    short: "Das Passwort muss mindestens 8 Zeichen lang sein",
    characters: "Das Passwort darf keine Steuerzeichen und keine unvollständigen Zeichen enthalten",
    common: "Das Passwort gehört zu denen, die Angreifer zuerst versuchen",
    address: "Das Passwort darf nicht die E-Mail-Adresse sein"
  },

  consent: {
    title: "Zugriff erlauben?",
    asks: "{app} möchte auf Ihr Konto zugreifen",
    asksOf: "{app} möchte auf Ihr Konto bei {brand} zugreifen",
    switch: "Anderes Konto verwenden",
    scopes: "Wenn Sie es erlauben, kann die App",
    nothing: "Erfahren, dass Sie sich angemeldet haben, und sonst nichts.",
    at: "Bei: {audiences}",
    remember: "30 Tage lang nicht noch einmal fragen",
    allow: "Erlauben",
    deny: "Ablehnen",
    redirected: "Sie werden zu {host} weitergeleitet.",
    app: "{scheme} (eine App)",
    terms: "Nutzungsbedingungen",
    privacy: "Datenschutzerklärung",
    data: "Ihre Daten lesen und ändern"
  },
  scopes: {
    openid: "Erfahren, wer Sie sind",
    profile: "Ihren Namen und den Rest Ihres Profils sehen",
    email: "Ihre E-Mail-Adresse sehen",
    address: "Ihre Postanschrift sehen",
    phone: "Ihre Telefonnummer sehen",
    offline: "Den Zugriff behalten, während Sie abwesend sind",
    offline_access: "Den Zugriff behalten, während Sie abwesend sind"
  },
  logout: {
    title: "Abmelden?",
    of: "Bei {brand} abmelden?",
    text: "Apps, die Sie mit diesem Konto verwenden, werden Sie bitten, sich wieder anzumelden.",
    stay: "Angemeldet bleiben",
    stillTitle: "Weiterhin angemeldet",
    still: "Sie sind weiterhin angemeldet"
  },
  oauth2Error: { title: "Die App konnte Sie nicht anmelden", other: startAgain },
  oauth2Errors: {
    invalid_client: "Die App ist bei diesem Dienst nicht registriert.",
    unauthorized_client: "Die App darf Personen nicht auf diese Weise anmelden.",
    invalid_request: incorrect,
    invalid_scope: "Die App verlangt etwas, das sie nicht bekommen darf.",
    unsupported_response_type: incorrect,
    request_forbidden:
      "Die Anmeldung wurde in einem anderen Browser fortgesetzt, oder Cookies sind blockiert. Bitte beginnen Sie in der App von vorn.",
    server_error: "Ein Server ist ausgefallen. Bitte versuchen Sie es in ein paar Minuten noch einmal.",
    temporarily_unavailable: "Ein Server ist überlastet. Bitte versuchen Sie es in ein paar Minuten noch einmal."
  },
  failures: {
    INVALID_REQUEST: incomplete,
    CHALLENGE_NOT_FOUND: incomplete,
    CHALLENGE_EXPIRED: {
      title: "Es hat zu lange gedauert",
      text: "Die Anfrage der App ist abgelaufen oder wurde schon beantwortet. Bitte beginnen Sie von vorn."
    },
    CHALLENGE_FORBIDDEN: {
      title: "Sie sind mit einem anderen Konto angemeldet",
      text: "Die App hat nach einem anderen Konto gefragt. Um mit diesem fortzufahren, gehen Sie zur App zurück und beginnen Sie von vorn. Oder melden Sie sich zuerst ab."
    },
    CSRF: {
      title: "Diese Seite ist veraltet",
      text: `Ihre Sitzung hat sich geändert, seit sie geöffnet wurde. ${startAgain}`
    },
    LINK_EXPIRED: {
      title: "Dieser Link ist nicht mehr gültig",
      text: "Er ist abgelaufen oder wurde verwendet, oder der Dienst hat bereits einen Administrator."
    },
    aal2_required: {
      title: "Noch ein Schritt",
      text: "Bitte bestätigen Sie mit Ihrem zweiten Faktor, dass Sie es sind."
    },
    reauthentication_required: {
      title: "Noch ein Schritt",
      text: "Ihre Anmeldung liegt einige Zeit zurück. Bitte melden Sie sich noch einmal an."
    },
    USE_IDP: {
      title: "Ihr Konto wird anderswo geführt",
      text: "Dieser Dienst führt selbst keine Konten. Bitte gehen Sie zur App zurück und melden Sie sich dort an."
    },
    TOO_MANY_GUESSES: {
      title: "Zu viele Versuche",
      text: "Bitte warten Sie eine Minute, und versuchen Sie es noch einmal."
    },
    NOT_CONFIGURED: {
      title: "Die Anmeldung ist nicht eingerichtet",
      text: "Bitte wenden Sie sich an den Betreiber dieses Dienstes."
    }
  },
  unavailable: {
    title: "Die Anmeldung ist zurzeit nicht möglich",
    text: "Ein Server, der dafür nötig ist, antwortet nicht. Bitte versuchen Sie es in ein paar Minuten noch einmal."
  },
  failed: { title: "Etwas ist schiefgegangen", text: startAgain },

  mails: {
    link: "Öffnen Sie diese Seite:",
    code: "oder geben Sie diesen Code dort ein, wo Sie danach gefragt wurden: {code}",
    recovery: {
      subject: "Konto wiederherstellen",
      intro: "Jemand, vermutlich Sie, möchte das Konto mit dieser Adresse wiederherstellen.",
      outro: "Wenn Sie es nicht waren, können Sie diese Nachricht ignorieren: Es hat sich nichts geändert."
    },
    verification: {
      subject: "Adresse bestätigen",
      intro: "Bestätigen Sie, dass dies Ihre E-Mail-Adresse ist.",
      outro: "Wenn Sie nicht wissen, warum Sie diese Nachricht erhalten haben, können Sie sie ignorieren."
    },
    email: {
      subject: "Neue Adresse bestätigen",
      intro: "Bestätigen Sie, dass dies die neue E-Mail-Adresse Ihres Kontos ist.",
      outro: "Wenn Sie nicht wissen, warum Sie diese Nachricht erhalten haben, können Sie sie ignorieren."
    },
    registration: {
      subject: "Registrierung abschließen",
      intro: "Bestätigen Sie Ihre E-Mail-Adresse, um Ihr Konto anzulegen.",
      outro:
        "Wenn Sie sich nicht registriert haben, können Sie diese Nachricht ignorieren: Es wird kein Konto angelegt."
    },
    signIn: {
      subject: "Anmelden",
      intro: "Jemand, vermutlich Sie, möchte sich mit dieser Adresse anmelden.",
      outro: "Wenn Sie es nicht waren, können Sie diese Nachricht ignorieren: Niemand ist angemeldet."
    },
    invite: {
      subject: "Sie sind eingeladen",
      intro: "Sie sind eingeladen, ein Konto anzulegen.",
      outro: "Wenn Sie nicht wissen, warum Sie diese Nachricht erhalten haben, können Sie sie ignorieren."
    },
    again: {
      subject: "Bestätigen Sie, dass Sie es sind",
      intro: "Eine Änderung Ihres Kontos muss bestätigt werden.",
      outro: "Wenn Sie es nicht waren, setzen Sie ein neues Passwort."
    }
  },
  notices: {
    known: {
      subject: "Sie haben bereits ein Konto",
      text: "Jemand, vermutlich Sie, wollte sich mit dieser Adresse registrieren. Es gibt aber bereits ein Konto dafür. Melden Sie sich an, oder stellen Sie es wieder her."
    },
    password: {
      subject: "Ihr Passwort wurde geändert",
      text: "Das Passwort Ihres Kontos wurde geändert. Wenn Sie es nicht waren, stellen Sie Ihr Konto sofort wieder her."
    },
    address: {
      subject: "Ihre Adresse soll geändert werden",
      text: "Die Adresse Ihres Kontos soll in {name} geändert werden. Wenn Sie das nicht veranlasst haben, stellen Sie Ihr Konto sofort wieder her."
    },
    totp: {
      subject: "Eine Authenticator-App wurde zu Ihrem Konto hinzugefügt",
      text: "Bei der Anmeldung wird jetzt nach einem Code der App gefragt. Wenn Sie es nicht waren, stellen Sie Ihr Konto sofort wieder her."
    },
    key: {
      subject: "Ein Sicherheitsschlüssel wurde zu Ihrem Konto hinzugefügt",
      text: "Bei der Anmeldung wird jetzt nach ihm gefragt. Wenn Sie es nicht waren, stellen Sie Ihr Konto sofort wieder her."
    },
    passkey: {
      subject: "Ein Passkey wurde zu Ihrem Konto hinzugefügt",
      text: "Mit ihm kann man sich jetzt bei Ihrem Konto anmelden. Wenn Sie es nicht waren, stellen Sie Ihr Konto sofort wieder her."
    },
    codes: {
      subject: "Für Ihr Konto wurden neue Wiederherstellungscodes erzeugt",
      text: "Jeder ersetzt einmal Ihren zweiten Faktor. Wenn Sie es nicht waren, stellen Sie Ihr Konto sofort wieder her."
    },
    linked: {
      subject: "{name} wurde mit Ihrem Konto verknüpft",
      text: "Mit Ihrem Konto bei {name} kann man sich jetzt bei Ihrem Konto anmelden. Wenn Sie es nicht waren, stellen Sie Ihr Konto sofort wieder her."
    }
  }
}
