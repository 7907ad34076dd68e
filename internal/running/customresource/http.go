package customresource

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
)

// Handler serves the response URLs of an inbox: it takes a PUT with any Content-Type, as S3
// does for a presigned URL, and answers with the codes of S3. An error of the inbox is
// answered with 503, and reported by failed unless that is nil.
func Handler(inbox Inbox, failed func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			w.Header().Set("Allow", http.MethodPut)
			refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource.")
			return
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, MaxResponse+1))
		if err != nil {
			status, code := http.StatusBadRequest, "IncompleteBody"
			var tooLarge *http.MaxBytesError
			if errors.As(err, &tooLarge) {
				code = "EntityTooLarge"
			}
			refuse(w, status, code, "The request body could not be read.")
			return
		}
		outcome, violations, err := inbox.Deliver(r.Context(), AddressOf(r.URL), body)
		switch {
		case err != nil:
			if failed != nil {
				failed(err)
			}
			refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable", "The response could not be stored. Please try again.")
		case outcome == Taken:
			w.WriteHeader(http.StatusOK) // also for what is not valid: S3 does not look into it
		case outcome == TooLong:
			refuse(w, http.StatusBadRequest, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size of 4096 bytes.")
		case outcome == NotTheAnswer:
			refuse(w, http.StatusBadRequest, "InvalidRequest", "This is not the response to the request with this URL: "+violations.Ignored().Message+".")
		case outcome == Used:
			refuse(w, http.StatusForbidden, "AccessDenied", "A response was received at this URL before.")
		case outcome == Expired:
			refuse(w, http.StatusForbidden, "AccessDenied", "Request has expired")
		default:
			refuse(w, http.StatusForbidden, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided.")
		}
	})
}

// refuse writes an error as S3 does.
func refuse(w http.ResponseWriter, status int, code, message string) {
	text, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}{Code: code, Message: message})
	if err != nil {
		text = nil // it has only strings
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = w.Write(append([]byte(xml.Header), text...)) // the client has gone
}
