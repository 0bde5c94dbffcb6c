/** Who may call a route, as the service names it. */
export type Gate = 'requireSession' | 'requireWriteSession' | 'requireDeveloperSession' | 'requireOwnerSession'
