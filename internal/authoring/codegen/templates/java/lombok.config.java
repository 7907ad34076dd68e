lombok.addLombokGeneratedAnnotation = true
