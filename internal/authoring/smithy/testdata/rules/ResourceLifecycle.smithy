// want [ERROR] a#R: The `read` lifecycle operation of this resource targets an invalid operation, `a#O`. The targeted operation must be marked with the readonly trait. | ResourceLifecycle
// want [ERROR] a#R: The `delete` lifecycle operation of this resource targets an invalid operation, `a#D`. The targeted operation must be marked as idempotent. | ResourceLifecycle
$version: "2"
namespace a
resource R { read: O, delete: D }
operation O {}
operation D {}
